// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit tests for the size of the folio that a page fault maps.
 *
 * A write fault in anonymous memory takes the highest enabled order whose
 * naturally aligned range around the address lies in the VMA and has no page
 * table entry set. The tests provoke real faults and look at what is mapped.
 */
#include <kunit/test.h>
#include <linux/align.h>
#include <linux/bitmap.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/mman.h>
#include <linux/pgtable.h>
#include <linux/prandom.h>
#include <linux/swap.h>
#include <linux/swapops.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>

#include "../internal.h"
#include "mm_kunit.h"

MODULE_IMPORT_NS("EXPORTED_FOR_KUNIT_TESTING");

static unsigned long page_addr(unsigned long addr, unsigned int page)
{
	return addr + page * PAGE_SIZE;
}

/* How many of the @nr pages from @addr have an entry that is not none. */
static unsigned int nr_set(struct kunit *test, unsigned long addr,
			   unsigned int nr)
{
	unsigned int i, set = 0;
	pte_t *ptes;

	ptes = kunit_kcalloc(test, nr, sizeof(*ptes), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, ptes);

	mm_kunit_ptes(addr, nr, ptes);
	for (i = 0; i < nr; i++)
		set += !pte_none(ptes[i]);
	kunit_kfree(test, ptes);

	return set;
}

/*
 * Without large folios: what holds on every configuration.
 */

static void write_maps_one_page(struct kunit *test)
{
	unsigned long addr = mm_kunit_map_anon(test, 32 * PAGE_SIZE, PMD_SIZE);

	KUNIT_ASSERT_EQ(test, 0, mm_kunit_write(page_addr(addr, 9)));

	KUNIT_EXPECT_EQ(test, mm_kunit_order(page_addr(addr, 9)), 0);
	KUNIT_EXPECT_EQ(test, nr_set(test, addr, 32), 1);
}

static void read_maps_zero_page(struct kunit *test)
{
	unsigned long addr = mm_kunit_map_anon(test, 32 * PAGE_SIZE, PMD_SIZE);
	struct mm_kunit_entry entry;

	KUNIT_ASSERT_EQ(test, 0, mm_kunit_read(page_addr(addr, 9)));

	mm_kunit_entry(page_addr(addr, 9), &entry);
	KUNIT_EXPECT_TRUE(test, entry.zeropage);
	KUNIT_EXPECT_EQ(test, nr_set(test, addr, 32), 1);
}

static void write_replaces_zero_page(struct kunit *test)
{
	unsigned long addr = mm_kunit_map_anon(test, 32 * PAGE_SIZE, PMD_SIZE);
	struct mm_kunit_entry entry;

	KUNIT_ASSERT_EQ(test, 0, mm_kunit_read(page_addr(addr, 9)));
	KUNIT_ASSERT_EQ(test, 0, mm_kunit_write(page_addr(addr, 9)));

	mm_kunit_entry(page_addr(addr, 9), &entry);
	KUNIT_EXPECT_FALSE(test, entry.zeropage);
	KUNIT_EXPECT_EQ(test, entry.order, 0);
	KUNIT_EXPECT_EQ(test, nr_set(test, addr, 32), 1);
}

static void faults_at_table_boundary_map_one_page_each(struct kunit *test)
{
	unsigned long addr = mm_kunit_map_anon(test, 2 * PMD_SIZE, PMD_SIZE);
	unsigned long boundary = addr + PMD_SIZE;

	KUNIT_ASSERT_EQ(test, 0, mm_kunit_write(boundary - PAGE_SIZE));
	KUNIT_ASSERT_EQ(test, 0, mm_kunit_write(boundary));

	KUNIT_EXPECT_EQ(test, mm_kunit_order(boundary - PAGE_SIZE), 0);
	KUNIT_EXPECT_EQ(test, mm_kunit_order(boundary), 0);
	KUNIT_EXPECT_EQ(test, nr_set(test, addr, 2 * PTRS_PER_PTE), 2);
}

static void write_outside_vma_fails(struct kunit *test)
{
	unsigned long addr = mm_kunit_map_anon(test, 16 * PAGE_SIZE, PMD_SIZE);

	KUNIT_EXPECT_EQ(test, mm_kunit_write(page_addr(addr, 16)), -EFAULT);
	KUNIT_EXPECT_EQ(test, mm_kunit_write(addr - PAGE_SIZE), -EFAULT);
	KUNIT_EXPECT_EQ(test, nr_set(test, addr - PAGE_SIZE, 18), 0);
}

#ifdef CONFIG_TRANSPARENT_HUGEPAGE

/* A page counted from the end of the page table: FROM_END(1) is the last. */
#define FROM_END(n) (0x8000 | (n))

struct stride {
	u16 first;
	u16 nr;
	u16 step;
};

struct fault_param {
	const char *desc;
	unsigned long orders;
	u16 fault;
	/* Pages present before the fault */
	struct stride set[2];
	/* The VMA is [start, end) of the table; end 0: to the end. */
	u16 start;
	u16 end;
};

#define ORDER(n)	BIT(n)
#define ORDERS(lo, hi)	GENMASK(hi, lo)
#define PAGE(n)		{ (n), 1, 1 }

static const struct fault_param fault_params[] = {
	/* The whole range is empty: the highest enabled order is taken. */
	{ "empty, orders 2-8, first page", ORDERS(2, 8), 0 },
	{ "empty, orders 2-8, last page", ORDERS(2, 8), FROM_END(1) },
	{ "empty, orders 2-8, page 255", ORDERS(2, 8), 255 },
	{ "empty, order 2 alone", ORDER(2), 5 },
	{ "empty, order 4 alone", ORDER(4), 9 },
	{ "empty, order 8 alone", ORDER(8), 100 },
	{ "empty, orders 2 and 8", ORDER(2) | ORDER(8), 77 },
	{ "empty, orders 3, 5 and 7", ORDER(3) | ORDER(5) | ORDER(7), 70 },
	{ "empty, orders 4 and above PMD", ORDER(4) | ORDER(MAX_PAGE_ORDER + 1),
	  9 },

	/* Orders 0 and 1 are never candidates. */
	{ "no order", 0, 9 },
	{ "order 0 alone", ORDER(0), 8 },
	{ "order 1 alone", ORDER(1), 8 },
	{ "orders 0 and 1", ORDERS(0, 1), 9 },
	{ "orders 0-2", ORDERS(0, 2), 9 },
	{ "orders 0-2, neighbour in block set", ORDERS(0, 2), 8, { PAGE(11) } },

	/* One page is set: what it touches is dropped. */
	{ "first of the block set", ORDERS(2, 4), 9, { PAGE(0) } },
	{ "last of the block set", ORDERS(2, 4), 3, { PAGE(15) } },
	{ "page before the block set", ORDERS(2, 4), 16, { PAGE(15) } },
	{ "page behind the block set", ORDERS(2, 4), 15, { PAGE(16) } },
	{ "page before the fault set", ORDERS(2, 4), 9, { PAGE(8) } },
	{ "page behind the fault set", ORDERS(2, 4), 9, { PAGE(10) } },
	{ "last page of left piece set", ORDERS(2, 4), 12, { PAGE(7) } },
	{ "first page of left piece set", ORDERS(2, 4), 12, { PAGE(8) } },
	{ "first page of right piece set", ORDERS(2, 4), 1, { PAGE(4) } },
	{ "last page of right piece set", ORDERS(2, 4), 1, { PAGE(7) } },
	{ "both sides set", ORDERS(2, 6), 20, { PAGE(15), PAGE(24) } },
	{ "set page outside the one order", ORDER(3), 9,
	  { PAGE(7), PAGE(16) } },
	{ "set page inside the one order", ORDER(3), 9, { PAGE(15) } },
	{ "gap in the orders, 5 dropped", ORDER(2) | ORDER(5), 9,
	  { PAGE(30) } },
	{ "gap in the orders, 2 dropped", ORDER(2) | ORDER(5), 9,
	  { PAGE(11) } },
	{ "orders 4 and 8, 8 dropped at start", ORDER(4) | ORDER(8), 200,
	  { PAGE(0) } },
	{ "orders 4 and 8, 8 dropped at end", ORDER(4) | ORDER(8), 20,
	  { PAGE(255) } },

	/* Many pages are set. */
	{ "every 8th set, orders 2-8", ORDERS(2, 8), 8, { { 7, 64, 8 } } },
	{ "every 8th set, beside it", ORDERS(2, 8), 22, { { 7, 64, 8 } } },
	{ "every 16th set, orders 3-6", ORDERS(3, 6), 33, { { 15, 32, 16 } } },
	{ "every 2nd set", ORDERS(2, 8), 100, { { 1, 256, 2 } } },
	{ "all others set", ORDERS(2, 8), 100,
	  { { 0, 100, 1 }, { 101, 411, 1 } } },
	{ "all but one block of 4 set", ORDERS(2, 8), 102,
	  { { 0, 100, 1 }, { 104, 408, 1 } } },
	{ "all before the fault set", ORDERS(2, 8), 64, { { 0, 64, 1 } } },
	{ "all behind the fault set", ORDERS(2, 8), 63, { { 64, 448, 1 } } },

	/* The edges of the page table */
	{ "first page, second set", ORDERS(2, 8), 0, { PAGE(1) } },
	{ "second page, first set", ORDERS(2, 8), 1, { PAGE(0) } },
	{ "first block, first set", ORDERS(2, 8), 127, { PAGE(0) } },
	{ "last page, last but one set", ORDERS(2, 8), FROM_END(1),
	  { PAGE(FROM_END(2)) } },
	{ "last but one page, last set", ORDERS(2, 8), FROM_END(2),
	  { PAGE(FROM_END(1)) } },
	{ "last block, last set", ORDERS(2, 8), FROM_END(128),
	  { PAGE(FROM_END(1)) } },

	/* The VMA ends or starts inside the aligned range. */
	{ "VMA ends inside order 4", ORDERS(2, 4), 2, .end = 12 },
	{ "VMA ends inside order 4 and 3", ORDERS(2, 4), 9, .end = 12 },
	{ "VMA ends inside all orders", ORDERS(2, 4), 9, .end = 10 },
	{ "VMA ends with order 4", ORDERS(2, 6), 15, .end = 16 },
	{ "VMA starts inside order 4", ORDERS(2, 4), 12, .start = 1 },
	{ "VMA starts inside order 4 and 3", ORDERS(2, 4), 6, .start = 2 },
	{ "VMA starts inside all orders", ORDERS(2, 4), 3, .start = 1 },
	{ "VMA starts with order 4", ORDERS(2, 6), 16, .start = 16 },
	{ "VMA cuts order 5, set page cuts 4", ORDERS(2, 5), 9,
	  { PAGE(3) }, .end = 31 },
	{ "VMA of one page", ORDERS(2, 8), 9, .start = 9, .end = 10 },
};

KUNIT_ARRAY_PARAM_DESC(fault, fault_params, desc);

/**
 * struct fault_scene - one table's worth of memory and a fault in it
 * @addr: address of the first entry of the page table
 * @start: first page of the VMA
 * @end: page behind the VMA
 * @fault: page to fault
 * @orders: enabled orders
 * @set: pages that are mapped before the fault
 * @before: the table before the fault
 * @after: the table after the fault
 */
struct fault_scene {
	unsigned long addr;
	unsigned int start;
	unsigned int end;
	unsigned int fault;
	unsigned long orders;
	DECLARE_BITMAP(set, MAX_PTRS_PER_PTE);
	pte_t before[MAX_PTRS_PER_PTE];
	pte_t after[MAX_PTRS_PER_PTE];
};

static unsigned int param_page(u16 page)
{
	return page & 0x8000 ? PTRS_PER_PTE - (page & 0x7fff) : page;
}

static struct fault_scene *scene_alloc(struct kunit *test)
{
	struct fault_scene *s;

	s = kunit_kzalloc(test, sizeof(*s), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, s);
	return s;
}

/* Map the VMA at the top of an aligned block and populate @s->set. */
static void scene_map(struct kunit *test, struct fault_scene *s)
{
	unsigned int page;

	s->addr = mm_kunit_map_anon(test, PMD_SIZE, PMD_SIZE);
	if (s->start)
		mm_kunit_unmap(test, s->addr, s->start * PAGE_SIZE);
	if (s->end < PTRS_PER_PTE)
		mm_kunit_unmap(test, page_addr(s->addr, s->end),
			       (PTRS_PER_PTE - s->end) * PAGE_SIZE);

	mm_kunit_anon_orders(0);
	for_each_set_bit(page, s->set, PTRS_PER_PTE)
		KUNIT_ASSERT_EQ(test, 0,
				mm_kunit_write(page_addr(s->addr, page)));
}

static void scene_fault(struct kunit *test, struct fault_scene *s)
{
	mm_kunit_anon_orders(s->orders);
	mm_kunit_ptes(s->addr, PTRS_PER_PTE, s->before);
	KUNIT_ASSERT_EQ(test, 0, mm_kunit_write(page_addr(s->addr, s->fault)));
	mm_kunit_ptes(s->addr, PTRS_PER_PTE, s->after);
	mm_kunit_anon_orders(0);
}

static struct fault_scene *scene_from_param(struct kunit *test)
{
	const struct fault_param *p = test->param_value;
	struct fault_scene *s = scene_alloc(test);
	unsigned int i, nr, page;

	s->orders = p->orders;
	s->fault = param_page(p->fault);
	s->start = p->start;
	s->end = p->end ?: PTRS_PER_PTE;
	for (i = 0; i < ARRAY_SIZE(p->set); i++) {
		const struct stride *stride = &p->set[i];

		page = param_page(stride->first);
		for (nr = stride->nr; nr && page < PTRS_PER_PTE; nr--) {
			__set_bit(page, s->set);
			page += stride->step;
		}
	}
	scene_map(test, s);

	return s;
}

/* The order by the definition, every order tried for itself. */
static unsigned int defined_order(const struct fault_scene *s)
{
	unsigned int order, best = 0;

	for (order = 2; order < PMD_ORDER; order++) {
		unsigned int nr = 1U << order;
		unsigned int first = s->fault / nr * nr;
		unsigned int page;
		bool empty = true;

		for (page = first; page < first + nr; page++)
			empty &= page >= s->start && page < s->end &&
				 !test_bit(page, s->set);
		if (empty && (s->orders & BIT(order)))
			best = order;
	}

	return best;
}

static void order_is_highest_that_is_empty(struct kunit *test)
{
	struct fault_scene *s = scene_from_param(test);

	scene_fault(test, s);
	KUNIT_EXPECT_EQ(test, mm_kunit_order(page_addr(s->addr, s->fault)),
			defined_order(s));
}

static void all_ptes_of_folio_are_mapped(struct kunit *test)
{
	struct fault_scene *s = scene_from_param(test);
	unsigned long fault = page_addr(s->addr, s->fault);
	struct mm_kunit_entry entry;

	scene_fault(test, s);
	mm_kunit_entry(fault, &entry);
	KUNIT_EXPECT_EQ(test, entry.page, s->fault % (1U << defined_order(s)));
	KUNIT_EXPECT_TRUE(test, mm_kunit_folio_mapped_whole(fault));
}

static unsigned int nr_changed_outside(const struct fault_scene *s)
{
	unsigned int nr = 1U << defined_order(s);
	unsigned int first = ALIGN_DOWN(s->fault, nr);
	unsigned int page, changed = 0;

	for (page = 0; page < PTRS_PER_PTE; page++) {
		if (page >= first && page < first + nr)
			continue;
		changed += !pte_same(s->before[page], s->after[page]);
	}

	return changed;
}

static void ptes_outside_folio_are_untouched(struct kunit *test)
{
	struct fault_scene *s = scene_from_param(test);

	scene_fault(test, s);
	KUNIT_EXPECT_EQ(test, nr_changed_outside(s), 0);
}

static void new_folio_is_zero(struct kunit *test)
{
	struct fault_scene *s = scene_from_param(test);
	unsigned int nr = 1U << defined_order(s);
	unsigned int first = ALIGN_DOWN(s->fault, nr);
	unsigned int page, dirty = 0;

	scene_fault(test, s);
	for (page = first; page < first + nr; page++) {
		unsigned long val = ~0UL;

		if (page == s->fault)
			continue;
		KUNIT_ASSERT_EQ(test, 0, get_user(val, (unsigned long __user *)
						  page_addr(s->addr, page)));
		dirty += val != 0;
	}
	KUNIT_EXPECT_EQ(test, dirty, 0);
}

#define RANDOM_ROUNDS 16

static const u32 random_seeds[] = { 1, 2, 3, 5, 8, 13, 21, 34 };

static void seed_desc(const u32 *seed, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "seed %u", *seed);
}

KUNIT_ARRAY_PARAM(random, random_seeds, seed_desc);

static void random_faults_match_definition(struct kunit *test)
{
	const u32 *seed = test->param_value;
	struct fault_scene *s = scene_alloc(test);
	struct rnd_state rnd;
	unsigned int round;

	prandom_seed_state(&rnd, *seed);
	for (round = 0; round < RANDOM_ROUNDS; round++) {
		unsigned int pages, i, order;
		unsigned long fault;

		s->start = 0;
		s->end = PTRS_PER_PTE;
		if (prandom_u32_state(&rnd) % 4 == 0) {
			s->start = prandom_u32_state(&rnd) % (PTRS_PER_PTE / 2);
			s->end -= prandom_u32_state(&rnd) % (PTRS_PER_PTE / 2);
		}
		s->fault = s->start +
			   prandom_u32_state(&rnd) % (s->end - s->start);
		s->orders = prandom_u32_state(&rnd) & (BIT(PMD_ORDER) - 1);

		bitmap_zero(s->set, MAX_PTRS_PER_PTE);
		pages = 1U << prandom_u32_state(&rnd) % 6;
		for (i = 0; i < pages; i++)
			__set_bit(s->start + prandom_u32_state(&rnd) %
				  (s->end - s->start), s->set);
		__clear_bit(s->fault, s->set);

		scene_map(test, s);
		scene_fault(test, s);

		fault = page_addr(s->addr, s->fault);
		order = defined_order(s);
		KUNIT_EXPECT_EQ_MSG(test, mm_kunit_order(fault), order,
				    "round %u: orders %lx, fault on %u",
				    round, s->orders, s->fault);
		KUNIT_EXPECT_TRUE(test, mm_kunit_folio_mapped_whole(fault));
		KUNIT_EXPECT_EQ(test, nr_changed_outside(s), 0);
		mm_kunit_unmap(test, s->addr, PMD_SIZE);
	}
}

static void faults_at_table_boundary_stay_in_their_table(struct kunit *test)
{
	unsigned long addr = mm_kunit_map_anon(test, 2 * PMD_SIZE, PMD_SIZE);
	unsigned long boundary = addr + PMD_SIZE;

	mm_kunit_anon_orders(ORDERS(2, 4));
	KUNIT_ASSERT_EQ(test, 0, mm_kunit_write(boundary - PAGE_SIZE));
	KUNIT_ASSERT_EQ(test, 0, mm_kunit_write(boundary));

	KUNIT_EXPECT_EQ(test, mm_kunit_order(boundary - PAGE_SIZE), 4);
	KUNIT_EXPECT_EQ(test, mm_kunit_order(boundary), 4);
	KUNIT_EXPECT_EQ(test, nr_set(test, addr, PTRS_PER_PTE), 16);
	KUNIT_EXPECT_EQ(test, nr_set(test, boundary, PTRS_PER_PTE), 16);
}

static void set_pages_of_next_table_do_not_matter(struct kunit *test)
{
	unsigned long addr = mm_kunit_map_anon(test, 3 * PMD_SIZE, PMD_SIZE);
	unsigned long table = addr + PMD_SIZE;

	KUNIT_ASSERT_EQ(test, 0, mm_kunit_write(table - PAGE_SIZE));
	KUNIT_ASSERT_EQ(test, 0, mm_kunit_write(table + PMD_SIZE));

	mm_kunit_anon_orders(ORDERS(2, 4));
	KUNIT_ASSERT_EQ(test, 0, mm_kunit_write(table));
	KUNIT_ASSERT_EQ(test, 0, mm_kunit_write(table + PMD_SIZE - PAGE_SIZE));

	KUNIT_EXPECT_EQ(test, mm_kunit_order(table), 4);
	KUNIT_EXPECT_EQ(test, mm_kunit_order(table + PMD_SIZE - PAGE_SIZE), 4);
}

static void sequential_faults_fill_table_without_overlap(struct kunit *test)
{
	unsigned long addr = mm_kunit_map_anon(test, PMD_SIZE, PMD_SIZE);
	unsigned int page;

	mm_kunit_anon_orders(ORDERS(2, 4));
	for (page = 0; page < PTRS_PER_PTE; page += 16) {
		KUNIT_ASSERT_EQ(test, 0, mm_kunit_write(page_addr(addr, page)));
		KUNIT_EXPECT_EQ(test, nr_set(test, addr, PTRS_PER_PTE),
				page + 16);
	}
}

static void zero_page_counts_as_set(struct kunit *test)
{
	unsigned long addr = mm_kunit_map_anon(test, 32 * PAGE_SIZE, PMD_SIZE);

	mm_kunit_anon_orders(ORDERS(2, 4));
	KUNIT_ASSERT_EQ(test, 0, mm_kunit_read(page_addr(addr, 3)));
	KUNIT_ASSERT_EQ(test, 0, mm_kunit_write(page_addr(addr, 9)));

	KUNIT_EXPECT_EQ(test, mm_kunit_order(page_addr(addr, 9)), 3);
	KUNIT_EXPECT_EQ(test, nr_set(test, addr, 32), 1 + 8);
}

static void read_fault_maps_no_large_folio(struct kunit *test)
{
	unsigned long addr = mm_kunit_map_anon(test, 32 * PAGE_SIZE, PMD_SIZE);

	mm_kunit_anon_orders(ORDERS(2, 4));
	KUNIT_ASSERT_EQ(test, 0, mm_kunit_read(page_addr(addr, 9)));

	KUNIT_EXPECT_EQ(test, mm_kunit_order(page_addr(addr, 9)), -1);
	KUNIT_EXPECT_EQ(test, nr_set(test, addr, 32), 1);
}

static void write_to_zero_page_copies_one_page(struct kunit *test)
{
	unsigned long addr = mm_kunit_map_anon(test, 32 * PAGE_SIZE, PMD_SIZE);

	mm_kunit_anon_orders(ORDERS(2, 4));
	KUNIT_ASSERT_EQ(test, 0, mm_kunit_read(page_addr(addr, 9)));
	KUNIT_ASSERT_EQ(test, 0, mm_kunit_write(page_addr(addr, 9)));

	KUNIT_EXPECT_EQ(test, mm_kunit_order(page_addr(addr, 9)), 0);
	KUNIT_EXPECT_EQ(test, nr_set(test, addr, 32), 1);
}

#ifdef CONFIG_USERFAULTFD

/*
 * The fault handler looks at the flags of the VMA. They are set without a
 * context behind them: nobody is there to answer, so a fault that would be
 * delivered fails, and one that would not is handled as usual.
 */

static void order_is_0_with_userfaultfd_armed(struct kunit *test)
{
	unsigned long addr = mm_kunit_map_anon(test, 32 * PAGE_SIZE, PMD_SIZE);

	mm_kunit_vma_flags(test, addr, VM_UFFD_WP, 0);
	mm_kunit_anon_orders(ORDERS(2, 4));
	KUNIT_ASSERT_EQ(test, 0, mm_kunit_write(page_addr(addr, 9)));

	KUNIT_EXPECT_EQ(test, mm_kunit_order(page_addr(addr, 9)), 0);
	KUNIT_EXPECT_EQ(test, nr_set(test, addr, 32), 1);
}

static void order_is_4_with_userfaultfd_disarmed(struct kunit *test)
{
	unsigned long addr = mm_kunit_map_anon(test, 32 * PAGE_SIZE, PMD_SIZE);

	mm_kunit_vma_flags(test, addr, VM_UFFD_WP, 0);
	mm_kunit_vma_flags(test, addr, 0, VM_UFFD_WP);
	mm_kunit_anon_orders(ORDERS(2, 4));
	KUNIT_ASSERT_EQ(test, 0, mm_kunit_write(page_addr(addr, 9)));

	KUNIT_EXPECT_EQ(test, mm_kunit_order(page_addr(addr, 9)), 4);
}

static void missing_fault_goes_to_userfaultfd(struct kunit *test)
{
	unsigned long addr = mm_kunit_map_anon(test, 32 * PAGE_SIZE, PMD_SIZE);

	mm_kunit_vma_flags(test, addr, VM_UFFD_MISSING, 0);
	mm_kunit_anon_orders(ORDERS(2, 4));

	KUNIT_EXPECT_EQ(test, mm_kunit_write(page_addr(addr, 9)), -EFAULT);
	KUNIT_EXPECT_EQ(test, nr_set(test, addr, 32), 0);
}

#endif /* CONFIG_USERFAULTFD */

#ifdef CONFIG_SYSFS

/* The counters of anonymous faults, by order */
struct fault_stats {
	unsigned long alloc[ilog2(MAX_PTRS_PER_PTE) + 1];
	unsigned long fallback[ilog2(MAX_PTRS_PER_PTE) + 1];
	unsigned long fallback_charge[ilog2(MAX_PTRS_PER_PTE) + 1];
};

static struct fault_stats *stats_read(struct kunit *test)
{
	struct fault_stats *st;
	int order;

	st = kunit_kzalloc(test, sizeof(*st), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, st);

	for (order = 0; order <= PMD_ORDER; order++) {
		st->alloc[order] =
			mm_kunit_mthp_stat(order, MTHP_STAT_ANON_FAULT_ALLOC);
		st->fallback[order] =
			mm_kunit_mthp_stat(order, MTHP_STAT_ANON_FAULT_FALLBACK);
		st->fallback_charge[order] =
			mm_kunit_mthp_stat(order, MTHP_STAT_ANON_FAULT_FALLBACK_CHARGE);
	}

	return st;
}

/* Orders that are not empty, or not in the VMA, are no fallback. */
static void only_alloc_of_its_order_is_counted(struct kunit *test)
{
	struct fault_scene *s = scene_from_param(test);
	struct fault_stats *expected = stats_read(test);
	unsigned int order = defined_order(s);

	if (order)
		expected->alloc[order]++;
	scene_fault(test, s);
	KUNIT_EXPECT_MEMEQ(test, stats_read(test), expected, sizeof(*expected));
}

static void read_fault_counts_nothing(struct kunit *test)
{
	unsigned long addr = mm_kunit_map_anon(test, 32 * PAGE_SIZE, PMD_SIZE);
	struct fault_stats *expected = stats_read(test);

	mm_kunit_anon_orders(ORDERS(2, 4));
	KUNIT_ASSERT_EQ(test, 0, mm_kunit_read(page_addr(addr, 9)));
	KUNIT_EXPECT_MEMEQ(test, stats_read(test), expected, sizeof(*expected));
}

#ifdef CONFIG_USERFAULTFD

static void nothing_is_counted_with_userfaultfd_armed(struct kunit *test)
{
	unsigned long addr = mm_kunit_map_anon(test, 32 * PAGE_SIZE, PMD_SIZE);
	struct fault_stats *expected = stats_read(test);

	mm_kunit_vma_flags(test, addr, VM_UFFD_WP, 0);
	mm_kunit_anon_orders(ORDERS(2, 4));
	KUNIT_ASSERT_EQ(test, 0, mm_kunit_write(page_addr(addr, 9)));
	KUNIT_EXPECT_MEMEQ(test, stats_read(test), expected, sizeof(*expected));
}

static void nothing_is_counted_for_missing_fault(struct kunit *test)
{
	unsigned long addr = mm_kunit_map_anon(test, 32 * PAGE_SIZE, PMD_SIZE);
	struct fault_stats *expected = stats_read(test);

	mm_kunit_vma_flags(test, addr, VM_UFFD_MISSING, 0);
	mm_kunit_anon_orders(ORDERS(2, 4));
	KUNIT_ASSERT_EQ(test, -EFAULT, mm_kunit_write(page_addr(addr, 9)));
	KUNIT_EXPECT_MEMEQ(test, stats_read(test), expected, sizeof(*expected));
}

#endif /* CONFIG_USERFAULTFD */
#endif /* CONFIG_SYSFS */

#ifdef CONFIG_MEMCG

/* Room for an order 2 folio, but for none of order 3 or 4 */
#define MEMCG_MAX_PAGES 7

static void failed_charge_takes_next_order(struct kunit *test)
{
	unsigned long addr = mm_kunit_map_anon(test, PMD_SIZE, PMD_SIZE);
	struct mm_kunit_memcg *memcg;

	memcg = mm_kunit_memcg_enter(test, MEMCG_MAX_PAGES);
	mm_kunit_anon_orders(ORDER(4) | ORDER(2) | ORDER(0));
	KUNIT_ASSERT_EQ(test, 0, mm_kunit_write(page_addr(addr, 9)));

	KUNIT_EXPECT_EQ(test, mm_kunit_order(page_addr(addr, 9)), 2);
	KUNIT_EXPECT_TRUE(test, mm_kunit_folio_mapped_whole(page_addr(addr, 9)));
	KUNIT_EXPECT_EQ(test, nr_set(test, addr, PTRS_PER_PTE), 4);
	mm_kunit_memcg_leave(test, memcg);
}

static void failed_charges_of_all_orders_take_order_0(struct kunit *test)
{
	unsigned long addr = mm_kunit_map_anon(test, PMD_SIZE, PMD_SIZE);
	struct mm_kunit_memcg *memcg;

	memcg = mm_kunit_memcg_enter(test, MEMCG_MAX_PAGES);
	mm_kunit_anon_orders(ORDERS(3, 5));
	KUNIT_ASSERT_EQ(test, 0, mm_kunit_write(page_addr(addr, 9)));

	KUNIT_EXPECT_EQ(test, mm_kunit_order(page_addr(addr, 9)), 0);
	KUNIT_EXPECT_EQ(test, nr_set(test, addr, PTRS_PER_PTE), 1);
	mm_kunit_memcg_leave(test, memcg);
}

static void failed_charge_leaves_nothing_charged(struct kunit *test)
{
	unsigned long addr = mm_kunit_map_anon(test, PMD_SIZE, PMD_SIZE);
	struct mm_kunit_memcg *memcg;

	memcg = mm_kunit_memcg_enter(test, MEMCG_MAX_PAGES);
	mm_kunit_anon_orders(ORDER(4) | ORDER(2));
	KUNIT_ASSERT_EQ(test, 0, mm_kunit_write(page_addr(addr, 9)));

	KUNIT_EXPECT_EQ(test, mm_kunit_memcg_pages(test, memcg), 4);
	mm_kunit_unmap(test, addr, PMD_SIZE);
	KUNIT_EXPECT_EQ(test, mm_kunit_memcg_pages(test, memcg), 0);
	mm_kunit_memcg_leave(test, memcg);
}

/*
 * A folio that could not be charged is in nobody's count but that of the free
 * pages, which moves a little by itself. So lose many, if any are lost.
 */
#define LEAK_ROUNDS 256

static void failed_charge_leaks_no_folio(struct kunit *test)
{
	struct mm_kunit_memcg *memcg;
	struct sysinfo before, after;
	unsigned int round;

	memcg = mm_kunit_memcg_enter(test, MEMCG_MAX_PAGES);
	mm_kunit_anon_orders(ORDER(4) | ORDER(2));

	si_meminfo(&before);
	for (round = 0; round < LEAK_ROUNDS; round++) {
		unsigned long addr;

		addr = mm_kunit_map_anon(test, 16 * PAGE_SIZE, 16 * PAGE_SIZE);
		KUNIT_ASSERT_EQ(test, 0, mm_kunit_write(page_addr(addr, 9)));
		KUNIT_ASSERT_EQ(test, mm_kunit_order(page_addr(addr, 9)), 2);
		mm_kunit_unmap(test, addr, 16 * PAGE_SIZE);
	}
	si_meminfo(&after);

	KUNIT_EXPECT_GT(test, after.freeram + LEAK_ROUNDS * 16 / 2,
			before.freeram);
	mm_kunit_memcg_leave(test, memcg);
}

#ifdef CONFIG_SYSFS

static void failed_charge_is_counted_for_its_order(struct kunit *test)
{
	unsigned long addr = mm_kunit_map_anon(test, PMD_SIZE, PMD_SIZE);
	struct fault_stats *expected = stats_read(test);
	struct mm_kunit_memcg *memcg;

	memcg = mm_kunit_memcg_enter(test, MEMCG_MAX_PAGES);
	mm_kunit_anon_orders(ORDER(4) | ORDER(2) | ORDER(0));
	KUNIT_ASSERT_EQ(test, 0, mm_kunit_write(page_addr(addr, 9)));

	expected->fallback[4]++;
	expected->fallback_charge[4]++;
	expected->alloc[2]++;
	KUNIT_EXPECT_MEMEQ(test, stats_read(test), expected, sizeof(*expected));
	mm_kunit_memcg_leave(test, memcg);
}

static void failed_charges_are_counted_for_every_order(struct kunit *test)
{
	unsigned long addr = mm_kunit_map_anon(test, PMD_SIZE, PMD_SIZE);
	struct fault_stats *expected = stats_read(test);
	struct mm_kunit_memcg *memcg;
	int order;

	memcg = mm_kunit_memcg_enter(test, MEMCG_MAX_PAGES);
	mm_kunit_anon_orders(ORDERS(3, 5));
	KUNIT_ASSERT_EQ(test, 0, mm_kunit_write(page_addr(addr, 9)));

	for (order = 3; order <= 5; order++) {
		expected->fallback[order]++;
		expected->fallback_charge[order]++;
	}
	KUNIT_EXPECT_MEMEQ(test, stats_read(test), expected, sizeof(*expected));
	mm_kunit_memcg_leave(test, memcg);
}

#endif /* CONFIG_SYSFS */
#endif /* CONFIG_MEMCG */

#ifdef CONFIG_SHMEM

static unsigned long map_file_order_4(struct kunit *test, unsigned int nr)
{
	struct file *file = mm_kunit_shmem_file(test, 4);

	return mm_kunit_map(test, file, nr * PAGE_SIZE, PMD_SIZE,
			    PROT_READ | PROT_WRITE, MAP_SHARED);
}

static void file_fault_maps_whole_folio(struct kunit *test)
{
	unsigned long addr = map_file_order_4(test, 16);

	KUNIT_ASSERT_EQ(test, 0, mm_kunit_write(page_addr(addr, 9)));

	KUNIT_EXPECT_EQ(test, mm_kunit_order(page_addr(addr, 9)), 4);
	KUNIT_EXPECT_TRUE(test, mm_kunit_folio_mapped_whole(page_addr(addr, 9)));
	KUNIT_EXPECT_EQ(test, nr_set(test, addr, PTRS_PER_PTE), 16);
}

static void file_fault_in_short_vma_maps_one_page(struct kunit *test)
{
	unsigned long addr = map_file_order_4(test, 12);

	KUNIT_ASSERT_EQ(test, 0, mm_kunit_write(page_addr(addr, 9)));

	KUNIT_EXPECT_EQ(test, mm_kunit_order(page_addr(addr, 9)), 4);
	KUNIT_EXPECT_EQ(test, nr_set(test, addr, PTRS_PER_PTE), 1);
}

#ifdef CONFIG_USERFAULTFD

static void file_fault_with_userfaultfd_armed_maps_one_page(struct kunit *test)
{
	unsigned long addr = map_file_order_4(test, 16);

	mm_kunit_vma_flags(test, addr, VM_UFFD_WP, 0);
	KUNIT_ASSERT_EQ(test, 0, mm_kunit_write(page_addr(addr, 3)));

	KUNIT_EXPECT_EQ(test, mm_kunit_order(page_addr(addr, 3)), 4);
	KUNIT_EXPECT_EQ(test, nr_set(test, addr, PTRS_PER_PTE), 1);
}

static void file_fault_beside_set_pte_maps_one_page(struct kunit *test)
{
	unsigned long addr = map_file_order_4(test, 16);
	struct mm_kunit_entry entry;

	/* The one way to have a single page of the folio mapped by a fault */
	mm_kunit_vma_flags(test, addr, VM_UFFD_WP, 0);
	KUNIT_ASSERT_EQ(test, 0, mm_kunit_write(page_addr(addr, 3)));
	mm_kunit_vma_flags(test, addr, 0, VM_UFFD_WP);
	KUNIT_ASSERT_EQ(test, nr_set(test, addr, PTRS_PER_PTE), 1);

	KUNIT_ASSERT_EQ(test, 0, mm_kunit_write(page_addr(addr, 9)));

	mm_kunit_entry(page_addr(addr, 9), &entry);
	KUNIT_EXPECT_EQ(test, entry.order, 4);
	KUNIT_EXPECT_EQ(test, entry.page, 9);
	KUNIT_EXPECT_EQ(test, nr_set(test, addr, PTRS_PER_PTE), 2);
}

#endif /* CONFIG_USERFAULTFD */
#endif /* CONFIG_SHMEM */

/*
 * The scan of the page table, on tables that no mm knows.
 */

/* The orders by the definition, every range read for itself. */
static unsigned long defined_orders(const pte_t *table, unsigned int index,
				    unsigned long orders)
{
	unsigned int order, i;

	for (order = 0; order <= PMD_ORDER; order++) {
		unsigned int nr = 1U << order;
		const pte_t *first = table + index / nr * nr;

		if (!(orders & BIT(order)))
			continue;
		for (i = 0; i < nr; i++)
			if (!pte_none(first[i]))
				orders &= ~BIT(order);
	}

	return orders;
}

static void assert_defined_orders(struct kunit *test, pte_t *table,
				  unsigned int index, unsigned long orders,
				  unsigned int nr)
{
	unsigned long found = pte_none_orders(table, index, orders);
	unsigned long defined = defined_orders(table, index, orders);

	KUNIT_ASSERT_EQ_MSG(test, found, defined,
			    "table %u, entry %u, orders %lx", nr, index,
			    orders);
}

static pte_t present_entry(void)
{
	return pfn_pte(1, PAGE_KERNEL);
}

static void free_area(void *context)
{
	vfree(context);
}

/*
 * Memory for @nr entries, all none. The pages on both sides of it are not
 * mapped, so reading beyond them oopses. That holds for every entry behind the
 * last where @nr entries fill whole pages, as those of a table mostly do.
 */
static pte_t *area_alloc(struct kunit *test, unsigned int nr)
{
	pte_t *area;
	int err;

	area = vzalloc(nr * sizeof(pte_t));
	KUNIT_ASSERT_NOT_NULL(test, area);
	err = kunit_add_action_or_reset(test, free_area, area);
	KUNIT_ASSERT_EQ(test, err, 0);

	while (nr--)
		area[nr] = __pte(0);

	return area;
}

#define ENTRIES_PER_PAGE (PAGE_SIZE / sizeof(pte_t))

struct neighbour_param {
	const char *desc;
	bool set;
};

static const struct neighbour_param neighbour_params[] = {
	{ "entries around the table none", false },
	{ "entries around the table set", true },
};

KUNIT_ARRAY_PARAM_DESC(neighbour, neighbour_params, desc);

/* A table of @nr entries, all none, with others before and behind it. */
static pte_t *table_with_neighbours(struct kunit *test, unsigned int nr)
{
	const struct neighbour_param *p = test->param_value;
	pte_t *area = area_alloc(test, 3 * nr);
	unsigned int i;

	for (i = 0; i < 3 * nr; i++)
		if (p->set && i / nr != 1)
			area[i] = present_entry();

	return area + nr;
}

static void scan_matches_definition_exhaustively(struct kunit *test)
{
	pte_t *table = table_with_neighbours(test, 8);
	unsigned int pattern, index, i;
	unsigned long orders;

	for (pattern = 0; pattern < BIT(8); pattern++) {
		for (i = 0; i < 8; i++)
			table[i] = pattern & BIT(i) ? present_entry() :
						      __pte(0);
		for (orders = 0; orders < BIT(4); orders++)
			for (index = 0; index < 8; index++)
				assert_defined_orders(test, table, index,
						      orders, pattern);
	}
}

#define RANDOM_TABLES	64
#define RANDOM_SCANS	64

static void scan_matches_definition_on_random_tables(struct kunit *test)
{
	pte_t *table = area_alloc(test, PTRS_PER_PTE);
	const u32 *seed = test->param_value;
	unsigned int round, scan, i;
	struct rnd_state rnd;

	prandom_seed_state(&rnd, *seed);
	for (round = 0; round < RANDOM_TABLES; round++) {
		/* From about every other entry set to about one */
		unsigned int sparse = 2U << round % PMD_ORDER;

		for (i = 0; i < PTRS_PER_PTE; i++)
			table[i] = prandom_u32_state(&rnd) % sparse ?
				   __pte(0) : present_entry();

		for (scan = 0; scan < RANDOM_SCANS; scan++) {
			unsigned int index = prandom_u32_state(&rnd) %
					     PTRS_PER_PTE;
			unsigned long orders = prandom_u32_state(&rnd) &
					       (BIT(PMD_ORDER + 1) - 1);

			assert_defined_orders(test, table, index, orders,
					      round);
		}
	}
}

static void scan_of_empty_table_finds_all_orders(struct kunit *test)
{
	pte_t *table = table_with_neighbours(test, PTRS_PER_PTE);
	unsigned long orders = BIT(PMD_ORDER + 1) - 1;
	unsigned int index;

	for (index = 0; index < PTRS_PER_PTE; index++)
		KUNIT_EXPECT_EQ(test, pte_none_orders(table, index, orders),
				orders);
}

static void scan_of_full_table_finds_no_order(struct kunit *test)
{
	pte_t *table = table_with_neighbours(test, PTRS_PER_PTE);
	unsigned long orders = BIT(PMD_ORDER + 1) - 1;
	unsigned int index;

	for (index = 0; index < PTRS_PER_PTE; index++)
		table[index] = present_entry();

	for (index = 0; index < PTRS_PER_PTE; index++)
		KUNIT_EXPECT_EQ(test, pte_none_orders(table, index, orders), 0);
}

static void scan_takes_swap_entries_for_set(struct kunit *test)
{
	pte_t *table = area_alloc(test, PTRS_PER_PTE);

	table[3] = swp_entry_to_pte(swp_entry(1, 1));
	KUNIT_EXPECT_EQ(test, pte_none_orders(table, 9, ORDERS(2, 4)),
			ORDERS(2, 3));
}

/*
 * What must not be read is not mapped in the following cases.
 */

static void scan_reads_nothing_outside_table(struct kunit *test)
{
	pte_t *table = area_alloc(test, PTRS_PER_PTE);
	unsigned long orders = ORDERS(2, PMD_ORDER);

	KUNIT_EXPECT_EQ(test, pte_none_orders(table, 0, orders), orders);
	KUNIT_EXPECT_EQ(test, pte_none_orders(table, PTRS_PER_PTE - 1, orders),
			orders);
}

static void scan_for_no_order_reads_nothing(struct kunit *test)
{
	pte_t *area = area_alloc(test, ENTRIES_PER_PAGE);

	KUNIT_EXPECT_EQ(test, pte_none_orders(area + ENTRIES_PER_PAGE, 0, 0),
			0);
}

static void scan_for_one_order_reads_its_range_alone(struct kunit *test)
{
	pte_t *area = area_alloc(test, ENTRIES_PER_PAGE);
	pte_t *end = area + ENTRIES_PER_PAGE;
	unsigned int index;

	for (index = 16; index < 32; index++) {
		/* The table starts 16 entries before the area. */
		KUNIT_EXPECT_EQ(test, pte_none_orders(area - 16, index,
						      ORDER(4)), ORDER(4));
		/* The table goes on 32 entries behind the area. */
		KUNIT_EXPECT_EQ(test, pte_none_orders(end - 32, index,
						      ORDER(4)), ORDER(4));
	}
}

static void scan_to_the_right_ends_at_first_set(struct kunit *test)
{
	pte_t *area = area_alloc(test, ENTRIES_PER_PAGE);
	unsigned int last, nr = min_t(unsigned int, PTRS_PER_PTE,
				      ENTRIES_PER_PAGE);
	unsigned long orders = ORDERS(2, 8);

	area[ENTRIES_PER_PAGE - 1] = present_entry();
	for (last = 0; last < nr && last < 256; last++) {
		pte_t *table = area + ENTRIES_PER_PAGE - 1 - last;

		KUNIT_EXPECT_EQ(test, pte_none_orders(table, 0, orders),
				orders & (BIT(fls(last)) - 1));
	}
}

static void scan_to_the_left_ends_at_first_set(struct kunit *test)
{
	pte_t *area = area_alloc(test, ENTRIES_PER_PAGE);
	unsigned int order;

	/* The first entry of the block of this order is set and mapped. */
	area[0] = present_entry();
	for (order = 2; order <= 6; order++) {
		unsigned int first = 128 - (1U << order);

		KUNIT_EXPECT_EQ(test, pte_none_orders(area - first, 127,
						      ORDERS(2, 7)),
				ORDERS(2, 7) & (BIT(order) - 1));
	}
}

static void scan_reads_left_before_right(struct kunit *test)
{
	pte_t *area = area_alloc(test, ENTRIES_PER_PAGE);
	pte_t *table = area + ENTRIES_PER_PAGE - 8;

	/* Order 4 has entries 0-3 on the left, 8-15 on the right. */
	table[3] = present_entry();
	KUNIT_EXPECT_EQ(test, pte_none_orders(table, 5, ORDER(2) | ORDER(4)),
			ORDER(2));
}

#endif /* CONFIG_TRANSPARENT_HUGEPAGE */

static int fault_order_init(struct kunit *test)
{
	mm_kunit_init(test);
	return 0;
}

static struct kunit_case fault_order_cases[] = {
#ifdef CONFIG_TRANSPARENT_HUGEPAGE
	/* First: with a scan that finds too much, a fault never ends. */
	KUNIT_CASE_PARAM(scan_matches_definition_exhaustively,
			 neighbour_gen_params),
	KUNIT_CASE_PARAM(scan_matches_definition_on_random_tables,
			 random_gen_params),
	KUNIT_CASE_PARAM(scan_of_empty_table_finds_all_orders,
			 neighbour_gen_params),
	KUNIT_CASE_PARAM(scan_of_full_table_finds_no_order,
			 neighbour_gen_params),
	KUNIT_CASE(scan_takes_swap_entries_for_set),
	KUNIT_CASE(scan_reads_nothing_outside_table),
	KUNIT_CASE(scan_for_no_order_reads_nothing),
	KUNIT_CASE(scan_for_one_order_reads_its_range_alone),
	KUNIT_CASE(scan_to_the_right_ends_at_first_set),
	KUNIT_CASE(scan_to_the_left_ends_at_first_set),
	KUNIT_CASE(scan_reads_left_before_right),
#endif
	KUNIT_CASE(write_maps_one_page),
	KUNIT_CASE(read_maps_zero_page),
	KUNIT_CASE(write_replaces_zero_page),
	KUNIT_CASE(faults_at_table_boundary_map_one_page_each),
	KUNIT_CASE(write_outside_vma_fails),
#ifdef CONFIG_TRANSPARENT_HUGEPAGE
	KUNIT_CASE_PARAM(order_is_highest_that_is_empty, fault_gen_params),
	KUNIT_CASE_PARAM(all_ptes_of_folio_are_mapped, fault_gen_params),
	KUNIT_CASE_PARAM(ptes_outside_folio_are_untouched, fault_gen_params),
	KUNIT_CASE_PARAM(new_folio_is_zero, fault_gen_params),
	KUNIT_CASE_PARAM(random_faults_match_definition, random_gen_params),
	KUNIT_CASE(faults_at_table_boundary_stay_in_their_table),
	KUNIT_CASE(set_pages_of_next_table_do_not_matter),
	KUNIT_CASE(sequential_faults_fill_table_without_overlap),
	KUNIT_CASE(zero_page_counts_as_set),
	KUNIT_CASE(read_fault_maps_no_large_folio),
	KUNIT_CASE(write_to_zero_page_copies_one_page),
#ifdef CONFIG_USERFAULTFD
	KUNIT_CASE(order_is_0_with_userfaultfd_armed),
	KUNIT_CASE(order_is_4_with_userfaultfd_disarmed),
	KUNIT_CASE(missing_fault_goes_to_userfaultfd),
#endif
#ifdef CONFIG_SYSFS
	KUNIT_CASE_PARAM(only_alloc_of_its_order_is_counted, fault_gen_params),
	KUNIT_CASE(read_fault_counts_nothing),
#ifdef CONFIG_USERFAULTFD
	KUNIT_CASE(nothing_is_counted_with_userfaultfd_armed),
	KUNIT_CASE(nothing_is_counted_for_missing_fault),
#endif
#endif
#ifdef CONFIG_MEMCG
	KUNIT_CASE(failed_charge_takes_next_order),
	KUNIT_CASE(failed_charges_of_all_orders_take_order_0),
	KUNIT_CASE(failed_charge_leaves_nothing_charged),
	KUNIT_CASE(failed_charge_leaks_no_folio),
#ifdef CONFIG_SYSFS
	KUNIT_CASE(failed_charge_is_counted_for_its_order),
	KUNIT_CASE(failed_charges_are_counted_for_every_order),
#endif
#endif
#ifdef CONFIG_SHMEM
	KUNIT_CASE(file_fault_maps_whole_folio),
	KUNIT_CASE(file_fault_in_short_vma_maps_one_page),
#ifdef CONFIG_USERFAULTFD
	KUNIT_CASE(file_fault_with_userfaultfd_armed_maps_one_page),
	KUNIT_CASE(file_fault_beside_set_pte_maps_one_page),
#endif
#endif
#endif /* CONFIG_TRANSPARENT_HUGEPAGE */
	{}
};

static struct kunit_suite fault_order_suite = {
	.name = "fault_order",
	.init = fault_order_init,
	.test_cases = fault_order_cases,
};

kunit_test_suite(fault_order_suite);

MODULE_DESCRIPTION("KUnit tests for the size of the folio that a fault maps");
MODULE_LICENSE("GPL");
