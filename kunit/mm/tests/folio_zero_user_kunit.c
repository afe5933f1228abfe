// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit tests for the zeroing of folios that user space will see.
 *
 * folio_zero_user() clears a folio in up to three ranges: right of the pages
 * around the fault, left of them, and those pages last. A range is cleared in
 * one go if that can be preempted, and in batches otherwise.
 *
 * Most tests stand between the functions and note which pages are handed over,
 * with which addresses and in which order. Nothing is cleared then, so they
 * need no memory, whatever the size of the folio. The others look at memory.
 */
#include <kunit/static_stub.h>
#include <kunit/test.h>
#include <linux/cacheinfo.h>
#include <linux/falloc.h>
#include <linux/fs.h>
#include <linux/gfp.h>
#include <linux/highmem.h>
#include <linux/jump_label.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/mman.h>
#include <linux/sizes.h>
#include <linux/string.h>
#include <linux/vmalloc.h>

#include "../internal.h"
#include "mm_kunit.h"

MODULE_IMPORT_NS("EXPORTED_FOR_KUNIT_TESTING");

#define PATTERN 0xaa

static bool page_is(struct page *page, u8 byte)
{
	void *addr = kmap_local_page(page);
	bool same = !memchr_inv(addr, byte, PAGE_SIZE);

	kunmap_local(addr);
	return same;
}

static void fill(struct page *page, unsigned long nr, u8 byte)
{
	while (nr--)
		memset_page(page++, 0, byte, PAGE_SIZE);
}

/* How many of @nr pages are not full of @byte */
static unsigned long nr_not(struct page *page, unsigned long nr, u8 byte)
{
	unsigned long differ = 0;

	while (nr--)
		differ += !page_is(page++, byte);

	return differ;
}

/*
 * Whether a folio from the page allocator has to be zeroed
 */

static void init_on_alloc_off(void *unused)
{
	static_branch_disable(&init_on_alloc);
}

static void init_on_alloc_on(void *unused)
{
	static_branch_enable(&init_on_alloc);
}

static bool init_on_alloc_is_on(void)
{
	return static_branch_maybe(CONFIG_INIT_ON_ALLOC_DEFAULT_ON,
				   &init_on_alloc);
}

/* Until the end of the test */
static void init_on_alloc_set(struct kunit *test, bool on)
{
	int err;

	err = kunit_add_action_or_reset(test, init_on_alloc_is_on() ?
					init_on_alloc_on : init_on_alloc_off,
					NULL);
	KUNIT_ASSERT_EQ(test, err, 0);

	if (on)
		init_on_alloc_on(NULL);
	else
		init_on_alloc_off(NULL);
	KUNIT_ASSERT_EQ(test, init_on_alloc_is_on(), on);
}

#ifdef cpu_icache_is_aliasing
struct init_param {
	const char *desc;
	bool on;
};

static const struct init_param init_params[] = {
	{ "init_on_alloc off", false },
	{ "init_on_alloc on", true },
};

KUNIT_ARRAY_PARAM_DESC(init, init_params, desc);

/* The caches are what they are: two of eight combinations a machine. */
static void needs_zeroing_if_aliasing_or_not_init_on_alloc(struct kunit *test)
{
	const struct init_param *p = test->param_value;
	bool aliasing = cpu_dcache_is_aliasing() || cpu_icache_is_aliasing();

	init_on_alloc_set(test, p->on);
	KUNIT_EXPECT_EQ(test, user_alloc_needs_zeroing(), aliasing || !p->on);
}
#endif

/*
 * Parameters: orders. The value is the order, plus one so that it is not NULL.
 */
static unsigned int param_order(struct kunit *test)
{
	return (unsigned long)test->param_value - 1;
}

static const void *order_param(const void *prev, unsigned int max, char *desc)
{
	unsigned long order = prev ? (unsigned long)prev : 0;

	if (order > max)
		return NULL;
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "order %lu", order);
	return (void *)(order + 1);
}

/* What the page allocator has, up to 4 MB */
static const void *buddy_gen_params(MM_KUNIT_PARAM_ARGS)
{
	unsigned int max = ilog2(SZ_4M >> PAGE_SHIFT);

	return order_param(prev, min_t(unsigned int, max, MAX_PAGE_ORDER), desc);
}

/* Blocks of pages from the page allocator, as many as hold some pages */
struct blocks {
	unsigned int order;
	unsigned int nr;
	struct page *pages[64];
};

static void blocks_free(void *context)
{
	struct blocks *blocks = context;

	while (blocks->nr)
		__free_pages(blocks->pages[--blocks->nr], blocks->order);
}

static void blocks_alloc(struct kunit *test, struct blocks *blocks)
{
	unsigned int nr = max(ARRAY_SIZE(blocks->pages) >> blocks->order, 1);

	while (blocks->nr < nr) {
		struct page *page = alloc_pages(GFP_HIGHUSER, blocks->order);

		KUNIT_ASSERT_NOT_NULL(test, page);
		blocks->pages[blocks->nr++] = page;
	}
}

static void pages_come_zeroed_with_init_on_alloc(struct kunit *test)
{
	struct blocks *blocks;
	unsigned long dirty = 0;
	unsigned int i;
	int err;

	blocks = kunit_kzalloc(test, sizeof(*blocks), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, blocks);
	blocks->order = param_order(test);
	err = kunit_add_action_or_reset(test, blocks_free, blocks);
	KUNIT_ASSERT_EQ(test, err, 0);
	init_on_alloc_set(test, true);

	/* The allocator gives back first what it has got last. */
	blocks_alloc(test, blocks);
	for (i = 0; i < blocks->nr; i++)
		fill(blocks->pages[i], 1UL << blocks->order, PATTERN);
	blocks_free(blocks);

	blocks_alloc(test, blocks);
	for (i = 0; i < blocks->nr; i++)
		dirty += nr_not(blocks->pages[i], 1UL << blocks->order, 0);
	KUNIT_EXPECT_EQ(test, dirty, 0);
}

static void free_largest(void *context)
{
	__free_pages(context, MAX_PAGE_ORDER);
}

/* Of the largest folio that the buddy allocator has */
static void page_n_has_pfn_of_first_plus_n(struct kunit *test)
{
	unsigned long n, pfn, differ = 0;
	struct page *page;
	int err;

	page = alloc_pages(GFP_HIGHUSER | __GFP_COMP, MAX_PAGE_ORDER);
	KUNIT_ASSERT_NOT_NULL(test, page);
	err = kunit_add_action_or_reset(test, free_largest, page);
	KUNIT_ASSERT_EQ(test, err, 0);

	pfn = page_to_pfn(page);
	for (n = 0; n < MAX_ORDER_NR_PAGES; n++)
		differ += page_to_pfn(folio_page(page_folio(page), n)) !=
			  pfn + n;
	KUNIT_EXPECT_EQ(test, differ, 0);
}

#if defined(CONFIG_SPARSEMEM) && !defined(CONFIG_SPARSEMEM_VMEMMAP) && \
	defined(MAX_FOLIO_ORDER)
/* Its struct pages would not be an array. */
static void no_folio_crosses_a_memory_section(struct kunit *test)
{
	KUNIT_EXPECT_LE(test, MAX_FOLIO_ORDER, PFN_SECTION_SHIFT);
}
#endif

#if defined(CONFIG_TRANSPARENT_HUGEPAGE) || defined(CONFIG_HUGETLBFS)

/*
 * The memory of folios
 */

static bool is_near(unsigned long page, unsigned long other)
{
	return page + 3 >= other && page <= other + 3;
}

/* The hint after @page: all pages, or those at the edges and in the middle */
static unsigned long next_hint(unsigned long nr, unsigned long page)
{
	while (++page < nr)
		if (nr <= 32 || page < 6 || page + 6 >= nr ||
		    is_near(page, nr / 2))
			break;

	return page;
}

/* Pages on both sides of a folio */
#define GUARD 16

/* Memory for a folio and its guards, of which some pages pose as a folio */
struct block {
	struct page *pages;
	unsigned long nr;
	struct folio *folio;
	unsigned int order;
	struct page saved[2];
};

static void block_restore(void *context)
{
	struct block *block = context;

	memcpy(block->folio, block->saved, sizeof(block->saved));
}

static struct block *block_alloc(struct kunit *test, unsigned int order,
				 unsigned long guard)
{
	struct block *block = kunit_kzalloc(test, sizeof(*block), GFP_KERNEL);
	int err;

	KUNIT_ASSERT_NOT_NULL(test, block);
	block->order = order;
	block->nr = (1UL << order) + 2 * guard;
	block->pages = mm_kunit_alloc_pages(test, block->nr, GFP_HIGHUSER);
	block->folio = (struct folio *)(block->pages + guard);
	if (order) {
		memcpy(block->saved, block->folio, sizeof(block->saved));
		__folio_set_head(block->folio);
		folio_set_order(block->folio, order);
		err = kunit_add_action_or_reset(test, block_restore, block);
		KUNIT_ASSERT_EQ(test, err, 0);
	}

	return block;
}

/* The largest is larger than any from the buddy allocator, with 4 KB pages. */
static const void *block_gen_params(MM_KUNIT_PARAM_ARGS)
{
	unsigned int max = ilog2(SZ_8M >> PAGE_SHIFT);

	if (!IS_ENABLED(CONFIG_CONTIG_ALLOC))
		max = min_t(unsigned int, max, MAX_PAGE_ORDER - 1);
	return order_param(prev, min_t(unsigned int, max, MM_KUNIT_MAX_ORDER),
			  desc);
}

static void folio_is_zero_and_its_neighbours_are_not(struct kunit *test)
{
	struct block *block = block_alloc(test, param_order(test), GUARD);
	struct page *pages = block->pages;
	unsigned long nr = 1UL << block->order;
	unsigned long page, end = GUARD + nr;

	fill(pages, block->nr, PATTERN);
	for (page = 0; page < nr; page = next_hint(nr, page)) {
		unsigned long base = 3UL * PAGE_SIZE << block->order;

		folio_zero_user(block->folio, base + page * PAGE_SIZE + 123);

		KUNIT_EXPECT_EQ_MSG(test, nr_not(pages + GUARD, nr, 0), 0,
				    "pages of the folio, hint %lu", page);
		KUNIT_EXPECT_EQ_MSG(test, nr_not(pages, GUARD, PATTERN), 0,
				    "pages before the folio, hint %lu", page);
		KUNIT_EXPECT_EQ_MSG(test, nr_not(pages + end, GUARD, PATTERN),
				    0, "pages behind the folio, hint %lu", page);
		fill(pages, block->nr, PATTERN);
		cond_resched();
	}
}

static void put_folio(void *context)
{
	folio_put(context);
}

static void allocated_folio_is_zero(struct kunit *test)
{
	unsigned int order = param_order(test);
	struct folio *folio = folio_alloc(GFP_HIGHUSER, order);
	int err;

	KUNIT_ASSERT_NOT_NULL(test, folio);
	err = kunit_add_action_or_reset(test, put_folio, folio);
	KUNIT_ASSERT_EQ(test, err, 0);
	fill(folio_page(folio, 0), 1UL << order, PATTERN);

	folio_zero_user(folio, (3UL * PAGE_SIZE << order) + 123);

	KUNIT_EXPECT_EQ(test, nr_not(folio_page(folio, 0), 1UL << order, 0), 0);
}

/*
 * What is handed over, and when
 */

#define MAX_RANGES 8

struct seam_range {
	unsigned long first;
	unsigned long nr;
};

/**
 * struct seam - notes of the calls that folio_zero_user() makes
 * @folio: the folio to be zeroed; if NULL, it is that of the first call.
 * @nr: number of its pages.
 * @base: user address of its first page.
 * @through: clear the pages as well.
 * @preemptible: what the kernel is told about itself.
 * @handled: how often each page was handed over.
 * @calls: number of calls.
 * @empty: calls for no page.
 * @longest: most pages in a call.
 * @outside: pages handed over that are not of the folio.
 * @misplaced: calls with another user address than that of the first page.
 * @ranges: the first calls, in their order.
 */
struct seam {
	struct folio *folio;
	unsigned long nr;
	unsigned long base;
	bool through;
	bool preemptible;
	u8 *handled;
	unsigned int calls;
	unsigned int empty;
	unsigned int longest;
	unsigned int outside;
	unsigned int misplaced;
	struct seam_range ranges[MAX_RANGES];
};

#define MAX_FOLIO_PAGES (SZ_1G >> PAGE_SHIFT)

static struct seam *current_seam(void)
{
	return kunit_get_current_test()->priv;
}

/* In place of clear_contig_highpages() or clear_highpages_unit() */
static void seam_note(struct page *page, unsigned long addr, unsigned int nr)
{
	struct seam *seam = current_seam();
	unsigned long first, i;
	unsigned int k;

	if (!seam->folio) {
		seam->folio = page_folio(page);
		seam->nr = folio_nr_pages(seam->folio);
	}

	first = page_to_pfn(page) - folio_pfn(seam->folio);
	if (seam->calls < MAX_RANGES)
		seam->ranges[seam->calls] = (struct seam_range){ first, nr };
	seam->calls++;
	seam->empty += !nr;
	seam->longest = max(seam->longest, nr);
	seam->misplaced += addr != seam->base + first * PAGE_SIZE;

	for (k = 0; k < nr; k++) {
		i = first + k;
		if (i >= seam->nr)
			seam->outside++;
		else if (seam->handled[i] < U8_MAX)
			seam->handled[i]++;
	}

	if (seam->through)
		clear_user_highpages(page, addr, nr);
}

static bool told_preemptible(void)
{
	return current_seam()->preemptible;
}

static void free_handled(void *context)
{
	vfree(context);
}

static struct seam *seam_alloc(struct kunit *test)
{
	struct seam *seam = kunit_kzalloc(test, sizeof(*seam), GFP_KERNEL);
	int err;

	KUNIT_ASSERT_NOT_NULL(test, seam);
	seam->handled = vzalloc(MAX_FOLIO_PAGES);
	KUNIT_ASSERT_NOT_NULL(test, seam->handled);
	err = kunit_add_action_or_reset(test, free_handled, seam->handled);
	KUNIT_ASSERT_EQ(test, err, 0);
	test->priv = seam;

	return seam;
}

/* Note the ranges that a folio is divided into. */
static struct seam *seam_of_ranges(struct kunit *test)
{
	struct seam *seam = seam_alloc(test);

	kunit_activate_static_stub(test, clear_contig_highpages, seam_note);
	return seam;
}

/* Note the calls that clear pages, in a kernel of one kind or the other. */
static struct seam *seam_of_calls(struct kunit *test, bool preemptible)
{
	struct seam *seam = seam_alloc(test);

	seam->preemptible = preemptible;
	kunit_activate_static_stub(test, clear_is_preemptible,
				   told_preemptible);
	kunit_activate_static_stub(test, clear_highpages_unit, seam_note);
	return seam;
}

/* A folio with no memory behind its pages */
static struct folio *bare_folio(struct kunit *test, unsigned int order)
{
	struct folio *folio = kunit_kzalloc(test, sizeof(*folio), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, folio);
	if (order) {
		__folio_set_head(folio);
		folio_set_order(folio, order);
	}

	return folio;
}

/* The folio to be zeroed, at a user address of its own */
static void seam_set_folio(struct kunit *test, struct seam *seam,
			   unsigned int order)
{
	struct folio *folio;

	/* Without an array of all struct pages, its pages have to have pfns. */
	if (IS_ENABLED(CONFIG_SPARSEMEM) &&
	    !IS_ENABLED(CONFIG_SPARSEMEM_VMEMMAP))
		folio = block_alloc(test, order, 0)->folio;
	else
		folio = bare_folio(test, order);

	seam->folio = folio;
	seam->nr = 1UL << order;
	/* Not a multiple of any larger folio's size */
	seam->base = 3UL * PAGE_SIZE << order;
	KUNIT_ASSERT_EQ(test, folio_nr_pages(folio), seam->nr);
}

static void seam_reset(struct seam *seam)
{
	memset(seam->handled, 0, seam->nr);
	seam->calls = 0;
	seam->empty = 0;
	seam->longest = 0;
	seam->outside = 0;
	seam->misplaced = 0;
}

static void zero_at(struct seam *seam, unsigned long page, unsigned int offset)
{
	seam_reset(seam);
	folio_zero_user(seam->folio, seam->base + page * PAGE_SIZE + offset);
	cond_resched();
}

static bool each_page_handled_once(const struct seam *seam)
{
	return !seam->outside && !memchr_inv(seam->handled, 1, seam->nr);
}

static const unsigned int offsets[] = { 0, 123, PAGE_SIZE - 1 };

static const void *order_gen_params(MM_KUNIT_PARAM_ARGS)
{
	return order_param(prev, min_t(unsigned int, MM_KUNIT_MAX_ORDER,
				      ilog2(MAX_FOLIO_PAGES)), desc);
}

/* Where the user's address is in the folio */
struct hint {
	unsigned long page;
	unsigned int offset;
	unsigned int tried;
};

/* Zero the folio with the next hint; false when there is none left. */
static bool zero_at_next(struct seam *seam, struct hint *hint)
{
	if (hint->tried == ARRAY_SIZE(offsets)) {
		hint->tried = 0;
		hint->page = next_hint(seam->nr, hint->page);
	}
	if (hint->page >= seam->nr)
		return false;

	hint->offset = offsets[hint->tried++];
	zero_at(seam, hint->page, hint->offset);
	return true;
}

static void each_page_is_handed_over_once(struct kunit *test)
{
	struct seam *seam = seam_of_calls(test, true);
	struct hint hint = {};

	seam_set_folio(test, seam, param_order(test));
	while (zero_at_next(seam, &hint))
		KUNIT_EXPECT_TRUE_MSG(test, each_page_handled_once(seam),
				      "hint %lu pages + %u bytes", hint.page,
				      hint.offset);
}

static void page_is_handed_over_with_its_address(struct kunit *test)
{
	struct seam *seam = seam_of_calls(test, true);
	struct hint hint = {};

	seam_set_folio(test, seam, param_order(test));
	while (zero_at_next(seam, &hint))
		KUNIT_EXPECT_EQ_MSG(test, seam->misplaced, 0,
				    "hint %lu pages + %u bytes", hint.page,
				    hint.offset);
}

static void each_page_is_handed_over_once_in_batches(struct kunit *test)
{
	struct seam *seam = seam_of_calls(test, false);

	seam_set_folio(test, seam, param_order(test));
	zero_at(seam, seam->nr / 3, 123);
	KUNIT_EXPECT_TRUE(test, each_page_handled_once(seam));
}

static void page_is_handed_over_with_its_address_in_batches(struct kunit *test)
{
	struct seam *seam = seam_of_calls(test, false);

	seam_set_folio(test, seam, param_order(test));
	zero_at(seam, seam->nr / 3, 123);
	KUNIT_EXPECT_EQ(test, seam->misplaced, 0);
}

static unsigned long longest_range(unsigned long nr)
{
	/* With the hint in the first page: all but that and its neighbours */
	return nr > 6 ? nr - 3 : min(nr, 3UL);
}

static void range_is_one_call_if_preemptible(struct kunit *test)
{
	struct seam *seam = seam_of_calls(test, true);

	seam_set_folio(test, seam, param_order(test));
	zero_at(seam, 0, 123);
	KUNIT_EXPECT_LE(test, seam->calls, 3);
	KUNIT_EXPECT_EQ(test, seam->longest, longest_range(seam->nr));
}

static void range_is_in_full_batches_if_not_preemptible(struct kunit *test)
{
	struct seam *seam = seam_of_calls(test, false);
	unsigned long batch = PROCESS_PAGES_NON_PREEMPT_BATCH;

	seam_set_folio(test, seam, param_order(test));
	zero_at(seam, 0, 123);
	KUNIT_EXPECT_EQ(test, seam->longest,
			min(longest_range(seam->nr), batch));
}

static void batch_is_32_mb_where_a_range_is_cleared_at_once(struct kunit *test)
{
#ifdef clear_pages
	KUNIT_EXPECT_EQ(test, PROCESS_PAGES_NON_PREEMPT_BATCH,
			SZ_32M >> PAGE_SHIFT);
#else
	KUNIT_EXPECT_EQ(test, PROCESS_PAGES_NON_PREEMPT_BATCH, 1);
#endif
}

static void kernel_is_what_it_was_started_as(struct kunit *test)
{
	struct seam *seam = seam_alloc(test);
	unsigned long batch = PROCESS_PAGES_NON_PREEMPT_BATCH;

	/* clear_is_preemptible() is the kernel's own here. */
	kunit_activate_static_stub(test, clear_highpages_unit, seam_note);
	seam_set_folio(test, seam, param_order(test));
	zero_at(seam, 0, 123);

	if (preempt_model_none() || preempt_model_voluntary())
		KUNIT_EXPECT_EQ(test, seam->longest,
				min(longest_range(seam->nr), batch));
	else
		KUNIT_EXPECT_EQ(test, seam->longest, longest_range(seam->nr));
}

/* Some folios, and pages of each where a range begins to be, or ceases. */
struct split {
	unsigned int nr;
	unsigned int fault;
};

static const struct split splits[] = {
	{ 1, 0 },
	{ 2, 0 }, { 2, 1 },
	{ 4, 0 }, { 4, 1 }, { 4, 2 }, { 4, 3 },
#ifdef MM_KUNIT_NR_PAGES
	/* No folio has 5 pages. But if one had, no range would be left over. */
	{ 5, 0 }, { 5, 1 }, { 5, 2 }, { 5, 3 }, { 5, 4 },
#endif
	{ 8, 0 }, { 8, 1 }, { 8, 2 }, { 8, 4 }, { 8, 5 }, { 8, 6 }, { 8, 7 },
	{ 512, 0 }, { 512, 1 }, { 512, 2 }, { 512, 256 }, { 512, 509 },
	{ 512, 510 }, { 512, 511 },
};

static void describe_split(const struct split *split, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%u pages, fault in %u",
		 split->nr, split->fault);
}

KUNIT_ARRAY_PARAM(split, splits, describe_split);

static const struct split *zero_split(struct kunit *test, struct seam *seam)
{
	const struct split *split = test->param_value;

	seam_set_folio(test, seam, order_base_2(split->nr));
#ifdef MM_KUNIT_NR_PAGES
	if (split->nr > 1)
		MM_KUNIT_NR_PAGES(seam->folio) = split->nr;
#endif
	seam->nr = split->nr;
	zero_at(seam, split->fault, 123);

	return split;
}

static void ranges_are_at_most_three(struct kunit *test)
{
	struct seam *seam = seam_of_ranges(test);

	zero_split(test, seam);
	KUNIT_EXPECT_GE(test, seam->calls, 1);
	KUNIT_EXPECT_LE(test, seam->calls, 3);
}

static void ranges_are_disjoint_and_complete(struct kunit *test)
{
	struct seam *seam = seam_of_ranges(test);

	zero_split(test, seam);
	KUNIT_EXPECT_TRUE(test, each_page_handled_once(seam));
}

static void empty_range_is_left_out(struct kunit *test)
{
	struct seam *seam = seam_of_ranges(test);

	zero_split(test, seam);
	KUNIT_EXPECT_EQ(test, seam->empty, 0);
}

/* Two pages on either side, as far as there are any: at most five in all. */
static void pages_around_fault_are_the_last_range(struct kunit *test)
{
	struct seam *seam = seam_of_ranges(test);
	const struct split *split = zero_split(test, seam);
	unsigned int first = split->fault < 2 ? 0 : split->fault - 2;
	unsigned int last = min(split->fault + 2, split->nr - 1);
	struct seam_range *hot;

	KUNIT_ASSERT_GE(test, seam->calls, 1);
	KUNIT_ASSERT_LE(test, seam->calls, MAX_RANGES);
	hot = &seam->ranges[seam->calls - 1];
	KUNIT_EXPECT_EQ(test, hot->first, first);
	KUNIT_EXPECT_EQ(test, hot->nr, last - first + 1);
}

static void no_call_is_for_no_page(struct kunit *test)
{
	struct seam *seam = seam_of_calls(test, true);

	zero_split(test, seam);
	KUNIT_EXPECT_EQ(test, seam->empty, 0);
}

static void no_batch_is_for_no_page(struct kunit *test)
{
	struct seam *seam = seam_of_calls(test, false);

	zero_split(test, seam);
	KUNIT_EXPECT_EQ(test, seam->empty, 0);
}

static void no_batch_is_above_the_limit(struct kunit *test)
{
	struct seam *seam = seam_of_calls(test, false);

	zero_split(test, seam);
	KUNIT_EXPECT_LE(test, seam->longest, PROCESS_PAGES_NON_PREEMPT_BATCH);
}

/*
 * The callers
 */

#ifdef CONFIG_TRANSPARENT_HUGEPAGE

static const void *anon_gen_params(MM_KUNIT_PARAM_ARGS)
{
	/* There are no anonymous folios of order 1, and 0 goes another way. */
	return order_param(prev ?: (void *)2, PMD_ORDER, desc);
}

static void anon_fault(struct kunit *test, struct seam *seam,
		       unsigned long page)
{
	unsigned int order = param_order(test);
	unsigned long size = PAGE_SIZE << order;

	if (!has_transparent_hugepage())
		kunit_skip(test, "this machine has no transparent huge pages");

	init_on_alloc_set(test, false);
	seam->through = true;
	seam->base = mm_kunit_map_anon(test, size, max(size, PMD_SIZE));
	mm_kunit_anon_orders(BIT(order));
	KUNIT_ASSERT_EQ(test, 0, mm_kunit_write(seam->base + page * PAGE_SIZE));
	KUNIT_ASSERT_EQ(test, mm_kunit_order(seam->base), order);
}

static void anon_fault_hands_over_each_page_with_its_address(struct kunit *test)
{
	struct seam *seam = seam_of_calls(test, true);
	unsigned long nr = 1UL << param_order(test);

	anon_fault(test, seam, nr - 2);
	KUNIT_EXPECT_EQ(test, seam->nr, nr);
	KUNIT_EXPECT_TRUE(test, each_page_handled_once(seam));
	KUNIT_EXPECT_EQ(test, seam->misplaced, 0);
}

static void anon_fault_zeroes_the_pages_around_it_last(struct kunit *test)
{
	struct seam *seam = seam_of_ranges(test);
	unsigned long nr = 1UL << param_order(test);
	struct seam_range *hot;

	anon_fault(test, seam, nr - 2);
	KUNIT_ASSERT_GE(test, seam->calls, 1);
	KUNIT_ASSERT_LE(test, seam->calls, MAX_RANGES);
	hot = &seam->ranges[seam->calls - 1];
	KUNIT_EXPECT_EQ(test, hot->first, nr - 4);
	KUNIT_EXPECT_EQ(test, hot->nr, 4);
}

#endif /* CONFIG_TRANSPARENT_HUGEPAGE */

#ifdef CONFIG_HUGETLBFS

static const void *huge_gen_params(MM_KUNIT_PARAM_ARGS)
{
	static const unsigned long sizes[] = { 0, SZ_1G };
	const unsigned long *next = prev ? (unsigned long *)prev + 1 : sizes;
	unsigned long size;

	if (next == sizes + ARRAY_SIZE(sizes))
		return NULL;
	size = *next ?: PMD_SIZE;
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%lu kB", size / SZ_1K);
	return next;
}

static unsigned long huge_size(struct kunit *test)
{
	return *(const unsigned long *)test->param_value ?: PMD_SIZE;
}

/* A file with a huge page in it, which is mapped at seam->base */
static struct file *huge_file(struct kunit *test)
{
	unsigned long size = huge_size(test);
	struct seam *seam = seam_of_calls(test, true);
	struct file *file;

	file = mm_kunit_hugetlb_file(test, size);
	if (!file)
		kunit_skip(test, "this machine has no huge page of %lu kB",
			   size / SZ_1K);

	seam->through = true;
	seam->base = mm_kunit_map(test, file, size, size,
				  PROT_READ | PROT_WRITE, MAP_SHARED);
	KUNIT_ASSERT_EQ(test, 0, mm_kunit_write(seam->base));
	KUNIT_ASSERT_NOT_NULL(test, seam->folio);
	KUNIT_ASSERT_EQ(test, folio_size(seam->folio), size);

	return file;
}

/* A file without pages; the next one that it gets is @folio, full of 0xaa. */
static struct file *dirty_huge_file(struct kunit *test, struct folio **folio)
{
	struct file *file = huge_file(test);
	struct seam *seam = test->priv;
	unsigned long size = huge_size(test);

	*folio = seam->folio;
	fill(folio_page(*folio, 0), seam->nr, PATTERN);
	mm_kunit_unmap(test, seam->base, size);
	KUNIT_ASSERT_EQ(test, 0, vfs_fallocate(file, FALLOC_FL_PUNCH_HOLE |
					       FALLOC_FL_KEEP_SIZE, 0, size));

	seam->folio = NULL;
	seam_reset(seam);
	return file;
}

/* Where the fault is in the huge page */
#define HUGE_HINT (7 * PAGE_SIZE + 120)

static void huge_page_is_zeroed_around_the_fault(struct kunit *test)
{
	struct folio *folio;
	struct file *file = dirty_huge_file(test, &folio);
	struct seam *seam = test->priv;
	unsigned long size = huge_size(test);

	seam->base = mm_kunit_map(test, file, size, size,
				  PROT_READ | PROT_WRITE, MAP_SHARED);
	KUNIT_ASSERT_EQ(test, 0, mm_kunit_read(seam->base + HUGE_HINT));

	KUNIT_ASSERT_PTR_EQ(test, seam->folio, folio);
	KUNIT_EXPECT_TRUE(test, each_page_handled_once(seam));
	KUNIT_EXPECT_EQ(test, seam->misplaced, 0);
	KUNIT_ASSERT_GE(test, seam->calls, 1);
	KUNIT_ASSERT_LE(test, seam->calls, 3);
	KUNIT_EXPECT_EQ(test, seam->ranges[seam->calls - 1].first, 5);
	KUNIT_EXPECT_EQ(test, seam->ranges[seam->calls - 1].nr, 5);
	KUNIT_EXPECT_EQ(test, nr_not(folio_page(folio, 0), seam->nr, 0), 0);
	mm_kunit_unmap(test, seam->base, size);
}

static void pages_of_huge_page_have_consecutive_pfns(struct kunit *test)
{
	unsigned long n, pfn, differ = 0;
	struct seam *seam;

	huge_file(test);
	seam = test->priv;
	pfn = folio_pfn(seam->folio);
	for (n = 0; n < seam->nr; n++)
		differ += page_to_pfn(folio_page(seam->folio, n)) != pfn + n;
	KUNIT_EXPECT_EQ(test, differ, 0);
	mm_kunit_unmap(test, seam->base, huge_size(test));
}

#ifdef CONFIG_MEMFD_CREATE

static void unpin(void *context)
{
	unpin_folio(context);
}

static void huge_page_pinned_through_file_is_zero(struct kunit *test)
{
	struct folio *folio, *pinned = NULL;
	struct file *file = dirty_huge_file(test, &folio);
	struct seam *seam = test->priv;
	pgoff_t offset;
	int err;

	/* There is no fault, so the address is that within the file. */
	seam->base = 0;
	KUNIT_ASSERT_EQ(test, 1, memfd_pin_folios(file, 0, huge_size(test) - 1,
						  &pinned, 1, &offset));
	err = kunit_add_action_or_reset(test, unpin, pinned);
	KUNIT_ASSERT_EQ(test, err, 0);

	KUNIT_ASSERT_PTR_EQ(test, pinned, folio);
	KUNIT_EXPECT_TRUE(test, folio_test_uptodate(folio));
	KUNIT_EXPECT_TRUE(test, each_page_handled_once(seam));
	KUNIT_EXPECT_EQ(test, nr_not(folio_page(folio, 0), seam->nr, 0), 0);
}

#endif /* CONFIG_MEMFD_CREATE */
#endif /* CONFIG_HUGETLBFS */
#endif /* CONFIG_TRANSPARENT_HUGEPAGE || CONFIG_HUGETLBFS */

static const char *preempt_model(void)
{
	if (preempt_model_rt())
		return "rt";
	if (preempt_model_full())
		return "full";
	if (preempt_model_lazy())
		return "lazy";
	return preempt_model_voluntary() ? "voluntary" : "none";
}

static int folio_zero_user_suite_init(struct kunit_suite *suite)
{
	kunit_info(suite, "preemption model: %s, batch: %lu pages, init_on_alloc: %d\n",
		   preempt_model(),
		   (unsigned long)PROCESS_PAGES_NON_PREEMPT_BATCH,
		   init_on_alloc_is_on());
	return 0;
}

static int folio_zero_user_init(struct kunit *test)
{
	mm_kunit_init(test);
	return 0;
}

#define SLOW_CASE_PARAM(name, gen_params)				\
	KUNIT_CASE_PARAM_ATTR(name, gen_params,				\
			      { .speed = KUNIT_SPEED_SLOW })

static struct kunit_case folio_zero_user_cases[] = {
#ifdef cpu_icache_is_aliasing
	KUNIT_CASE_PARAM(needs_zeroing_if_aliasing_or_not_init_on_alloc,
			 init_gen_params),
#endif
	KUNIT_CASE_PARAM(pages_come_zeroed_with_init_on_alloc, buddy_gen_params),
	KUNIT_CASE(page_n_has_pfn_of_first_plus_n),
#if defined(CONFIG_SPARSEMEM) && !defined(CONFIG_SPARSEMEM_VMEMMAP) && \
	defined(MAX_FOLIO_ORDER)
	KUNIT_CASE(no_folio_crosses_a_memory_section),
#endif
#if defined(CONFIG_TRANSPARENT_HUGEPAGE) || defined(CONFIG_HUGETLBFS)
	KUNIT_CASE_PARAM(allocated_folio_is_zero, buddy_gen_params),
	KUNIT_CASE_PARAM(folio_is_zero_and_its_neighbours_are_not,
			 block_gen_params),
	KUNIT_CASE_PARAM(ranges_are_at_most_three, split_gen_params),
	KUNIT_CASE_PARAM(ranges_are_disjoint_and_complete, split_gen_params),
	KUNIT_CASE_PARAM(empty_range_is_left_out, split_gen_params),
	KUNIT_CASE_PARAM(pages_around_fault_are_the_last_range,
			 split_gen_params),
	KUNIT_CASE_PARAM(no_call_is_for_no_page, split_gen_params),
	KUNIT_CASE_PARAM(no_batch_is_for_no_page, split_gen_params),
	KUNIT_CASE_PARAM(no_batch_is_above_the_limit, split_gen_params),
	KUNIT_CASE_PARAM(each_page_is_handed_over_once, order_gen_params),
	KUNIT_CASE_PARAM(page_is_handed_over_with_its_address,
			 order_gen_params),
	KUNIT_CASE_PARAM(each_page_is_handed_over_once_in_batches,
			 order_gen_params),
	KUNIT_CASE_PARAM(page_is_handed_over_with_its_address_in_batches,
			 order_gen_params),
	KUNIT_CASE_PARAM(range_is_one_call_if_preemptible, order_gen_params),
	KUNIT_CASE_PARAM(range_is_in_full_batches_if_not_preemptible,
			 order_gen_params),
	KUNIT_CASE_PARAM(kernel_is_what_it_was_started_as, order_gen_params),
	KUNIT_CASE(batch_is_32_mb_where_a_range_is_cleared_at_once),
#ifdef CONFIG_TRANSPARENT_HUGEPAGE
	KUNIT_CASE_PARAM(anon_fault_hands_over_each_page_with_its_address,
			 anon_gen_params),
	KUNIT_CASE_PARAM(anon_fault_zeroes_the_pages_around_it_last,
			 anon_gen_params),
#endif
#ifdef CONFIG_HUGETLBFS
	SLOW_CASE_PARAM(huge_page_is_zeroed_around_the_fault,
			huge_gen_params),
	SLOW_CASE_PARAM(pages_of_huge_page_have_consecutive_pfns,
			huge_gen_params),
#ifdef CONFIG_MEMFD_CREATE
	SLOW_CASE_PARAM(huge_page_pinned_through_file_is_zero,
			huge_gen_params),
#endif
#endif
#endif /* CONFIG_TRANSPARENT_HUGEPAGE || CONFIG_HUGETLBFS */
	{}
};

static struct kunit_suite folio_zero_user_suite = {
	.name = "folio_zero_user",
	.suite_init = folio_zero_user_suite_init,
	.init = folio_zero_user_init,
	.test_cases = folio_zero_user_cases,
};

kunit_test_suite(folio_zero_user_suite);

MODULE_DESCRIPTION("KUnit tests for the zeroing of folios of user space");
MODULE_LICENSE("GPL");
