// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit tests for the functions that zero a range of pages.
 *
 * Whatever instructions an architecture has for it, exactly the pages of the
 * range are zero afterwards. Each test fills a buffer with a pattern, clears
 * some of its pages and looks at every byte.
 *
 * The implementation depends on the processor. A line "implementation: ..."
 * tells which one has been tested. On x86_64, clearcpuid=erms and
 * clearcpuid=erms,rep_good on the command line choose the lesser ones.
 */
#include <kunit/test.h>
#include <linux/bitmap.h>
#include <linux/gfp.h>
#include <linux/highmem.h>
#include <linux/mm.h>
#include <linux/mmzone.h>
#include <linux/sched.h>
#include <linux/sizes.h>
#include <linux/string.h>
#include <linux/vmalloc.h>

#if defined(CONFIG_X86_64) && !defined(CONFIG_UML)
#include <linux/cpufeature.h>
#elif defined(CONFIG_ARM64)
#include <linux/cpufeature.h>
#include <asm/cputype.h>
#include <asm/sysreg.h>
#endif

#include "mm_kunit.h"

MODULE_IMPORT_NS("EXPORTED_FOR_KUNIT_TESTING");

#define PATTERN 0xa5

/* Pages on both sides of a range */
#define GUARD 16
/* Two PMDs' worth of 4 KB pages, and one page more */
#define MAX_COUNT ((SZ_4M >> PAGE_SHIFT) + 1)
/* Ranges of MAX_COUNT pages have that many pages to start at. */
#define MAX_STARTS 32

/**
 * struct buffer - pages to clear some of
 * @nr: number of pages.
 * @addr: address of the first, or NULL where they have no lasting address.
 * @page: the first, or NULL where they are contiguous by their address only.
 */
struct buffer {
	unsigned int nr;
	void *addr;
	struct page *page;
};

static bool bytes_are(const struct buffer *buf, unsigned int first,
		      unsigned int nr, u8 byte)
{
	bool same = true;

	if (buf->addr)
		return !memchr_inv(buf->addr + first * PAGE_SIZE, byte,
				   nr * PAGE_SIZE);

	while (same && nr--) {
		void *addr = kmap_local_page(buf->page + first++);

		same = !memchr_inv(addr, byte, PAGE_SIZE);
		kunmap_local(addr);
	}

	return same;
}

static void fill(struct buffer *buf, unsigned int first, unsigned int nr)
{
	if (buf->addr) {
		memset(buf->addr + first * PAGE_SIZE, PATTERN, nr * PAGE_SIZE);
		return;
	}

	while (nr--)
		memset_page(buf->page + first++, 0, PATTERN, PAGE_SIZE);
}

static struct buffer *buffer_alloc(struct kunit *test, unsigned int nr)
{
	struct buffer *buf = kunit_kzalloc(test, sizeof(*buf), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, buf);
	buf->nr = nr;
	return buf;
}

static void free_addr(void *context)
{
	vfree(context);
}

/* What follows the last page is not mapped: writing there oopses. */
static struct buffer *vmalloc_buffer(struct kunit *test, unsigned int nr)
{
	struct buffer *buf = buffer_alloc(test, nr);
	int err;

	buf->addr = vmalloc(nr * PAGE_SIZE);
	KUNIT_ASSERT_NOT_NULL(test, buf->addr);
	err = kunit_add_action_or_reset(test, free_addr, buf->addr);
	KUNIT_ASSERT_EQ(test, err, 0);

	fill(buf, 0, nr);
	return buf;
}

static struct buffer *page_buffer(struct kunit *test, unsigned int nr,
				  gfp_t gfp)
{
	struct buffer *buf;

	/* The buddy allocator has no more than that in one piece. */
	if (!IS_ENABLED(CONFIG_CONTIG_ALLOC))
		nr = min_t(unsigned int, nr, MAX_ORDER_NR_PAGES);

	buf = buffer_alloc(test, nr);
	buf->page = mm_kunit_alloc_pages(test, nr, gfp);
	return buf;
}

static struct buffer *lowmem_buffer(struct kunit *test, unsigned int nr)
{
	struct buffer *buf = page_buffer(test, nr, GFP_KERNEL);

	buf->addr = page_address(buf->page);
	fill(buf, 0, buf->nr);
	return buf;
}

#ifdef CONFIG_HIGHMEM
static struct buffer *highmem_buffer(struct kunit *test, unsigned int nr)
{
	struct buffer *buf;

	if (!totalhigh_pages())
		kunit_skip(test, "this machine has no high memory");

	buf = page_buffer(test, nr, GFP_HIGHUSER);
	KUNIT_ASSERT_TRUE_MSG(test, PageHighMem(buf->page),
			      "the pages are not in high memory");
	fill(buf, 0, buf->nr);
	return buf;
}
#endif

static void *range_addr(const struct buffer *buf, unsigned int first)
{
	return buf->addr + first * PAGE_SIZE;
}

/* An address in user space where the page could be mapped */
static unsigned long range_vaddr(unsigned int first)
{
	return SZ_64M + first * PAGE_SIZE;
}

static void clear_by_addr(struct buffer *buf, unsigned int first,
			  unsigned int nr)
{
	clear_pages(range_addr(buf, first), nr);
}

static void clear_for_user_by_addr(struct buffer *buf, unsigned int first,
				   unsigned int nr)
{
	clear_user_pages(range_addr(buf, first), range_vaddr(first),
			 buf->page + first, nr);
}

static void clear_for_user_by_page(struct buffer *buf, unsigned int first,
				   unsigned int nr)
{
	clear_user_highpages(buf->page + first, range_vaddr(first), nr);
}

/**
 * struct clear_param - a function under test and the memory that it is to clear
 * @desc: what is shown.
 * @alloc: get a buffer full of the pattern.
 * @clear: clear @nr pages of it.
 * @step: try every @step-th of the large counts.
 */
struct clear_param {
	const char *desc;
	struct buffer *(*alloc)(struct kunit *test, unsigned int nr);
	void (*clear)(struct buffer *buf, unsigned int first, unsigned int nr);
	unsigned int step;
};

static const struct clear_param clear_params[] = {
	{ "clear_pages, vmalloc", vmalloc_buffer, clear_by_addr, 1 },
	{ "clear_pages, lowmem", lowmem_buffer, clear_by_addr, 16 },
	{ "clear_user_pages, lowmem", lowmem_buffer, clear_for_user_by_addr,
	  16 },
	{ "clear_user_highpages, lowmem", lowmem_buffer,
	  clear_for_user_by_page, 1 },
#ifdef CONFIG_HIGHMEM
	{ "clear_user_highpages, highmem", highmem_buffer,
	  clear_for_user_by_page, 1 },
#endif
};

KUNIT_ARRAY_PARAM_DESC(clear, clear_params, desc);

/* Counts for which a range was not what it has to be */
struct faults {
	DECLARE_BITMAP(not_zero, MAX_COUNT + 1);
	DECLARE_BITMAP(outside, MAX_COUNT + 1);
};

static struct faults *faults_alloc(struct kunit *test)
{
	struct faults *faults;

	faults = kunit_kzalloc(test, sizeof(*faults), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, faults);
	return faults;
}

/* All of the buffer holds the pattern before, and again afterwards. */
static void clear_range(struct kunit *test, struct buffer *buf,
			unsigned int first, unsigned int nr,
			struct faults *faults)
{
	const struct clear_param *p = test->param_value;
	unsigned int end = first + nr;

	p->clear(buf, first, nr);

	if (!bytes_are(buf, first, nr, 0))
		__set_bit(nr, faults->not_zero);
	if (bytes_are(buf, 0, first, PATTERN) &&
	    bytes_are(buf, end, buf->nr - end, PATTERN)) {
		fill(buf, first, nr);
	} else {
		__set_bit(nr, faults->outside);
		fill(buf, 0, buf->nr);
	}

	cond_resched();
}

static void expect_no_faults(struct kunit *test, struct faults *faults)
{
	KUNIT_EXPECT_TRUE_MSG(test,
			      bitmap_empty(faults->not_zero, MAX_COUNT + 1),
			      "the range is not all zero for counts %*pbl",
			      MAX_COUNT + 1, faults->not_zero);
	KUNIT_EXPECT_TRUE_MSG(test,
			      bitmap_empty(faults->outside, MAX_COUNT + 1),
			      "something else has changed for counts %*pbl",
			      MAX_COUNT + 1, faults->outside);
}

/* The count to try after @nr: all small ones and what is next to 2 MB or 4 MB */
static unsigned int next_count(unsigned int nr, unsigned int step)
{
	const unsigned int edge = SZ_2M >> PAGE_SHIFT;
	const unsigned int rest = (nr + 2) % edge;

	return nr < 64 || rest < 4 ? nr + 1 : nr + min(step, edge - rest);
}

/* The start moves with the count, by a step that meets all remainders. */
static void exactly_the_range_is_zero_for_every_count(struct kunit *test)
{
	const struct clear_param *p = test->param_value;
	struct buffer *buf = p->alloc(test, MAX_COUNT + MAX_STARTS + 2 * GUARD);
	unsigned int max_count = min_t(unsigned int, MAX_COUNT,
				       buf->nr - MAX_STARTS - 2 * GUARD);
	struct faults *faults = faults_alloc(test);
	unsigned int nr;

	for (nr = 1; nr <= max_count; nr = next_count(nr, p->step))
		clear_range(test, buf, GUARD + nr * 13 % MAX_STARTS, nr,
			    faults);

	expect_no_faults(test, faults);
}

static void exactly_the_range_is_zero_at_every_start(struct kunit *test)
{
	static const unsigned int counts[] = { 1, 2, 3, 5, 8, 31 };
	const struct clear_param *p = test->param_value;
	struct buffer *buf = p->alloc(test, 128);
	struct faults *faults = faults_alloc(test);
	unsigned int i, first;

	for (i = 0; i < ARRAY_SIZE(counts); i++)
		for (first = GUARD; first + counts[i] + GUARD <= buf->nr;
		     first++)
			clear_range(test, buf, first, counts[i], faults);

	expect_no_faults(test, faults);
}

static void range_may_end_with_the_mapping(struct kunit *test)
{
	static const unsigned int counts[] = { 1, 2, 7, 64 };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(counts); i++) {
		struct buffer *buf = vmalloc_buffer(test, counts[i]);

		clear_pages(buf->addr, counts[i]);
		KUNIT_EXPECT_TRUE(test, bytes_are(buf, 0, counts[i], 0));
	}
}

static void clear_page_zeroes_exactly_one_page(struct kunit *test)
{
	struct buffer *buf = lowmem_buffer(test, 64);
	unsigned int page;

	for (page = 1; page < buf->nr - 1; page++) {
		clear_page(range_addr(buf, page));

		KUNIT_EXPECT_TRUE(test, bytes_are(buf, 0, page, PATTERN));
		KUNIT_EXPECT_TRUE(test, bytes_are(buf, page, 1, 0));
		KUNIT_EXPECT_TRUE(test, bytes_are(buf, page + 1,
						  buf->nr - page - 1, PATTERN));
		fill(buf, page, 1);
	}
}

static void cleared_range_stays_zero_when_cleared_again(struct kunit *test)
{
	struct buffer *buf = lowmem_buffer(test, 64);

	clear_pages(range_addr(buf, GUARD), 32);
	clear_pages(range_addr(buf, GUARD), 32);

	KUNIT_EXPECT_TRUE(test, bytes_are(buf, 0, GUARD, PATTERN));
	KUNIT_EXPECT_TRUE(test, bytes_are(buf, GUARD, 32, 0));
	KUNIT_EXPECT_TRUE(test, bytes_are(buf, GUARD + 32, 64 - GUARD - 32,
					  PATTERN));
}

/* With KMSAN, what was never written may not even be looked at. */
static void fresh_pages_are_zero_when_cleared(struct kunit *test)
{
	struct buffer *buf = page_buffer(test, 64, GFP_KERNEL);

	buf->addr = page_address(buf->page);
	clear_pages(buf->addr, 64);
	KUNIT_EXPECT_TRUE(test, bytes_are(buf, 0, 64, 0));
}

static void adjacent_ranges_leave_no_gap(struct kunit *test)
{
	struct buffer *buf = lowmem_buffer(test, 128);
	unsigned int first = GUARD, nr;

	/* 1 + 2 + ... + 13 pages */
	for (nr = 1; nr <= 13; first += nr++)
		clear_pages(range_addr(buf, first), nr);

	KUNIT_EXPECT_TRUE(test, bytes_are(buf, 0, GUARD, PATTERN));
	KUNIT_EXPECT_TRUE(test, bytes_are(buf, GUARD, 91, 0));
	KUNIT_EXPECT_TRUE(test, bytes_are(buf, first, buf->nr - first,
					  PATTERN));
}

#ifdef clear_pages
static const char extent[] = "a range at a time";
#else
static const char extent[] = "a page at a time";
#endif

static const char *implementation(void)
{
#if defined(CONFIG_X86_64) && !defined(CONFIG_UML)
	if (boot_cpu_has(X86_FEATURE_ERMS))
		return "rep stosb";
	if (boot_cpu_has(X86_FEATURE_REP_GOOD))
		return "rep stosq";
	return "unrolled";
#elif defined(CONFIG_ARM64)
	if (IS_ENABLED(CONFIG_AS_HAS_MOPS) &&
	    cpus_have_final_cap(ARM64_HAS_MOPS))
		return "MOPS";
	if (read_cpuid(DCZID_EL0) & BIT(DCZID_EL0_DZP_SHIFT))
		return "stores";
	return "DC ZVA";
#else
	return "clear_page()";
#endif
}

static int clear_pages_suite_init(struct kunit_suite *suite)
{
	kunit_info(suite, "implementation: %s, %s\n", implementation(), extent);
	return 0;
}

static struct kunit_case clear_pages_cases[] = {
	KUNIT_CASE(clear_page_zeroes_exactly_one_page),
	KUNIT_CASE(cleared_range_stays_zero_when_cleared_again),
	KUNIT_CASE(fresh_pages_are_zero_when_cleared),
	KUNIT_CASE(adjacent_ranges_leave_no_gap),
	KUNIT_CASE_PARAM(exactly_the_range_is_zero_at_every_start,
			 clear_gen_params),
	KUNIT_CASE_PARAM_ATTR(exactly_the_range_is_zero_for_every_count,
			      clear_gen_params,
			      { .speed = KUNIT_SPEED_SLOW }),
	/* Last: where a kernel does not survive an oops, all else is told. */
	KUNIT_CASE(range_may_end_with_the_mapping),
	{}
};

static struct kunit_suite clear_pages_suite = {
	.name = "clear_pages",
	.suite_init = clear_pages_suite_init,
	.test_cases = clear_pages_cases,
};

kunit_test_suite(clear_pages_suite);

MODULE_DESCRIPTION("KUnit tests for the functions that zero a range of pages");
MODULE_LICENSE("GPL");
