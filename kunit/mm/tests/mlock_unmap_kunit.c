// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit tests for what reclaim does with a folio in a locked VMA.
 *
 * A large folio that comes into a locked VMA is not always mlocked at once.
 * Reclaim makes up for it when it meets the folio, if the VMA maps all of it
 * and one page table lock covers all the entries: whoever unmaps a page takes
 * the mlock back under that lock.
 *
 * The tests lock a VMA that is populated already by setting its flag, as if the
 * folio had been missed, and call what reclaim calls.
 */
#include <kunit/test.h>
#include <linux/mm.h>
#include <linux/mman.h>
#include <linux/mmap_lock.h>
#include <linux/pagemap.h>
#include <linux/pgtable.h>
#include <linux/rmap.h>
#include <linux/swap.h>
#include <linux/vmstat.h>

#include "mm_kunit.h"

MODULE_IMPORT_NS("EXPORTED_FOR_KUNIT_TESTING");

/* In the tables: the order of a PMD, which is not always constant. */
#define ONE_PMD (~0U)

/**
 * struct mlock_param - a folio and how a VMA maps it
 * @desc: what is shown.
 * @order: order of the folio.
 * @hole: first page of the folio that has no entry.
 * @nr_hole: number of pages that have none.
 * @start: first page of the folio that is in the VMA.
 * @end: page behind the last one that is; 0: to the end of the folio.
 * @left: of a folio in a file, the pages in the first of two page tables; 0: the
 *	folio is anonymous.
 * @mlocked: whether the folio has to be mlocked.
 */
struct mlock_param {
	const char *desc;
	unsigned int order;
	unsigned int hole;
	unsigned int nr_hole;
	unsigned int start;
	unsigned int end;
	unsigned int left;
	bool mlocked;
};

/**
 * struct scene - a folio in a locked VMA
 * @addr: address of the first page of the VMA.
 * @nr: number of pages of the VMA.
 * @folio: the folio, with a reference.
 * @nr_mlock: NR_MLOCK of its zone before anything was done to it.
 * @ptes: the entries of the VMA.
 */
struct scene {
	unsigned long addr;
	unsigned long nr;
	struct folio *folio;
	unsigned long nr_mlock;
	pte_t *ptes;
};

static unsigned int param_order(const struct mlock_param *p)
{
	return p->order == ONE_PMD ? PMD_ORDER : p->order;
}

static unsigned long nr_mlock(const struct scene *s)
{
	return zone_page_state_snapshot(folio_zone(s->folio), NR_MLOCK);
}

static void put_scene_folio(void *context)
{
	folio_put(context);
}

/* Map more than the folio, then take away what is not to be mapped. */
static unsigned long map_anon(struct kunit *test, struct scene *s)
{
	const struct mlock_param *p = test->param_value;
	unsigned long nr = 1UL << param_order(p);
	unsigned long area, addr;

	area = mm_kunit_map_anon(test, 3 * nr * PAGE_SIZE, PMD_SIZE);
	addr = area + nr * PAGE_SIZE;
	s->addr = area;
	s->nr = 3 * nr;

	mm_kunit_anon_orders(BIT(param_order(p)));
	KUNIT_ASSERT_EQ(test, 0, mm_kunit_write(addr));
	mm_kunit_anon_orders(0);

	if (p->nr_hole)
		KUNIT_ASSERT_EQ(test, 0,
				do_madvise(current->mm,
					   addr + p->hole * PAGE_SIZE,
					   p->nr_hole * PAGE_SIZE,
					   MADV_DONTNEED));
	if (p->end) {
		s->nr = nr + p->end;
		mm_kunit_unmap(test, area + s->nr * PAGE_SIZE,
			       (3 * nr - s->nr) * PAGE_SIZE);
	}
	if (p->start) {
		mm_kunit_unmap(test, area, (nr + p->start) * PAGE_SIZE);
		s->addr = addr + p->start * PAGE_SIZE;
		s->nr -= nr + p->start;
	}

	/* A page of the folio that is mapped */
	return p->nr_hole && !p->hole ? addr + p->nr_hole * PAGE_SIZE :
					addr + p->start * PAGE_SIZE;
}

/* Map the file at the boundary of two page tables, page after page. */
static unsigned long map_file(struct kunit *test, struct scene *s)
{
	const struct mlock_param *p = test->param_value;
	struct file *file = mm_kunit_shmem_file(test, p->order);
	unsigned long area, page;

	area = mm_kunit_map_anon(test, 2 * PMD_SIZE, PMD_SIZE);
	s->nr = 1UL << p->order;
	s->addr = area + PMD_SIZE - p->left * PAGE_SIZE;
	KUNIT_ASSERT_EQ(test, s->addr,
			kunit_vm_mmap(test, file, s->addr, s->nr * PAGE_SIZE,
				      PROT_READ | PROT_WRITE,
				      MAP_SHARED | MAP_FIXED, 0));
	for (page = 0; page < s->nr; page++)
		KUNIT_ASSERT_EQ(test, 0,
				mm_kunit_write(s->addr + page * PAGE_SIZE));

	return s->addr;
}

/* What mlock() does, but for the folios */
static void lock_vma(struct kunit *test, struct scene *s)
{
	mm_kunit_vma_flags(test, s->addr, VM_LOCKED, 0);
	mmap_write_lock(current->mm);
	current->mm->locked_vm += s->nr;
	mmap_write_unlock(current->mm);
}

static struct scene *scene_begin(struct kunit *test)
{
	const struct mlock_param *p = test->param_value;
	struct mm_kunit_entry entry;
	struct scene *s;
	unsigned long addr;
	int err;

	s = kunit_kzalloc(test, sizeof(*s), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, s);
	addr = p->left ? map_file(test, s) : map_anon(test, s);

	mm_kunit_entry(addr, &entry);
	KUNIT_ASSERT_NOT_NULL(test, entry.folio);
	s->folio = entry.folio;
	folio_get(s->folio);
	err = kunit_add_action_or_reset(test, put_scene_folio, s->folio);
	KUNIT_ASSERT_EQ(test, err, 0);
	KUNIT_ASSERT_EQ(test, entry.order, (int)param_order(p));

	s->ptes = kunit_kcalloc(test, s->nr, sizeof(*s->ptes), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, s->ptes);
	mm_kunit_ptes(s->addr, s->nr, s->ptes);

	lock_vma(test, s);
	lru_add_drain_all();
	KUNIT_ASSERT_FALSE(test, folio_test_mlocked(s->folio));
	s->nr_mlock = nr_mlock(s);

	return s;
}

/* So that nothing is left to do for the exit of the thread, meanwhile */
static void scene_end(struct kunit *test, struct scene *s)
{
	mm_kunit_unmap(test, s->addr, s->nr * PAGE_SIZE);
	lru_add_drain_all();
}

static void scene_unmap(struct scene *s, enum ttu_flags flags)
{
	folio_lock(s->folio);
	try_to_unmap(s->folio, flags);
	folio_unlock(s->folio);
}

static int scene_referenced(struct scene *s, bool *locked)
{
	int referenced;

	folio_lock(s->folio);
	referenced = mm_kunit_referenced(s->folio, locked);
	folio_unlock(s->folio);

	return referenced;
}

static unsigned long expected_mlock(struct kunit *test, const struct scene *s)
{
	const struct mlock_param *p = test->param_value;

	return s->nr_mlock + (p->mlocked ? 1UL << param_order(p) : 0);
}

static const struct mlock_param mlock_params[] = {
	{ "one page", 0, .mlocked = true },
#ifdef CONFIG_TRANSPARENT_HUGEPAGE
	{ "16 of 16 pages", 4, .mlocked = true },
	{ "15 of 16 pages, first missing", 4, .hole = 0, .nr_hole = 1 },
	{ "15 of 16 pages, one missing", 4, .hole = 7, .nr_hole = 1 },
	{ "15 of 16 pages, last missing", 4, .hole = 15, .nr_hole = 1 },
	{ "1 of 16 pages", 4, .hole = 1, .nr_hole = 15 },
	{ "VMA ends inside", 4, .end = 15 },
	{ "VMA starts inside", 4, .start = 1 },
	{ "PMD", ONE_PMD, .mlocked = true },
	{ "all of a PMD but one page", ONE_PMD, .hole = 3, .nr_hole = 1 },
#ifdef CONFIG_SHMEM
	{ "file, 16 of 16 pages", 4, .left = 16, .mlocked = true },
	{ "file, 16 of 16 pages, tables 8 + 8", 4, .left = 8 },
	{ "file, 16 of 16 pages, tables 1 + 15", 4, .left = 1 },
	{ "file, 16 of 16 pages, tables 15 + 1", 4, .left = 15 },
#endif
#endif
};

KUNIT_ARRAY_PARAM_DESC(mlock, mlock_params, desc);

/*
 * Reclaim asks for references first.
 */

static void referenced_mlocks_whole_folio(struct kunit *test)
{
	const struct mlock_param *p = test->param_value;
	struct scene *s = scene_begin(test);
	bool locked;

	scene_referenced(s, &locked);
	KUNIT_EXPECT_EQ(test, folio_test_mlocked(s->folio), p->mlocked);
	KUNIT_EXPECT_EQ(test, locked, p->mlocked);
	scene_end(test, s);
}

static void referenced_adds_whole_folio_to_nr_mlock(struct kunit *test)
{
	struct scene *s = scene_begin(test);
	bool locked;

	scene_referenced(s, &locked);
	KUNIT_EXPECT_EQ(test, nr_mlock(s), expected_mlock(test, s));
	scene_end(test, s);
}

static void pages_in_locked_vma_are_no_reference(struct kunit *test)
{
	struct scene *s = scene_begin(test);
	bool locked;

	KUNIT_EXPECT_EQ(test, scene_referenced(s, &locked), 0);
	scene_end(test, s);
}

static void munmap_takes_back_what_referenced_mlocked(struct kunit *test)
{
	struct scene *s = scene_begin(test);
	bool locked;

	scene_referenced(s, &locked);
	scene_end(test, s);
	KUNIT_EXPECT_FALSE(test, folio_test_mlocked(s->folio));
	KUNIT_EXPECT_EQ(test, nr_mlock(s), s->nr_mlock);
}

/*
 * Then it tries to unmap the folio.
 */

static void folio_in_locked_vma_stays_mapped(struct kunit *test)
{
	struct scene *s = scene_begin(test);
	int mapcount = folio_mapcount(s->folio);
	pte_t *ptes;

	ptes = kunit_kcalloc(test, s->nr, sizeof(*ptes), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, ptes);

	scene_unmap(s, 0);
	mm_kunit_ptes(s->addr, s->nr, ptes);
	KUNIT_EXPECT_MEMEQ(test, ptes, s->ptes, s->nr * sizeof(*ptes));
	KUNIT_EXPECT_EQ(test, folio_mapcount(s->folio), mapcount);
	scene_end(test, s);
}

static void failed_unmap_mlocks_whole_folio(struct kunit *test)
{
	const struct mlock_param *p = test->param_value;
	struct scene *s = scene_begin(test);

	scene_unmap(s, 0);
	KUNIT_EXPECT_EQ(test, folio_test_mlocked(s->folio), p->mlocked);
	scene_end(test, s);
}

static void failed_unmap_adds_whole_folio_to_nr_mlock(struct kunit *test)
{
	struct scene *s = scene_begin(test);

	scene_unmap(s, 0);
	KUNIT_EXPECT_EQ(test, nr_mlock(s), expected_mlock(test, s));
	scene_end(test, s);
}

static void failed_unmap_again_adds_nothing_to_nr_mlock(struct kunit *test)
{
	struct scene *s = scene_begin(test);

	scene_unmap(s, 0);
	scene_unmap(s, 0);
	KUNIT_EXPECT_EQ(test, nr_mlock(s), expected_mlock(test, s));
	scene_end(test, s);
}

static void failed_unmap_makes_whole_folio_unevictable(struct kunit *test)
{
	const struct mlock_param *p = test->param_value;
	struct scene *s = scene_begin(test);

	scene_unmap(s, 0);
	lru_add_drain_all();
	KUNIT_EXPECT_EQ(test, folio_test_unevictable(s->folio), p->mlocked);
	scene_end(test, s);
}

static void munmap_takes_back_what_failed_unmap_mlocked(struct kunit *test)
{
	struct scene *s = scene_begin(test);

	scene_unmap(s, 0);
	scene_end(test, s);
	KUNIT_EXPECT_FALSE(test, folio_test_mlocked(s->folio));
	KUNIT_EXPECT_EQ(test, nr_mlock(s), s->nr_mlock);
}

#if defined(CONFIG_TRANSPARENT_HUGEPAGE) && defined(CONFIG_SHMEM)

static const struct mlock_param file_params[] = {
	{ "16 of 16 pages", 4, .left = 16 },
	{ "16 of 16 pages, tables 8 + 8", 4, .left = 8 },
	{ "16 of 16 pages, tables 1 + 15", 4, .left = 1 },
	{ "16 of 16 pages, tables 15 + 1", 4, .left = 15 },
};

KUNIT_ARRAY_PARAM_DESC(file, file_params, desc);

static void folio_is_unmapped_if_lock_is_ignored(struct kunit *test)
{
	struct scene *s = scene_begin(test);

	scene_unmap(s, TTU_IGNORE_MLOCK);
	KUNIT_EXPECT_EQ(test, folio_mapcount(s->folio), 0);
	KUNIT_EXPECT_FALSE(test, folio_test_mlocked(s->folio));
	KUNIT_EXPECT_EQ(test, nr_mlock(s), s->nr_mlock);
	scene_end(test, s);
}

static void folio_is_unmapped_if_vma_is_not_locked(struct kunit *test)
{
	struct scene *s = scene_begin(test);

	mm_kunit_vma_flags(test, s->addr, 0, VM_LOCKED);
	scene_unmap(s, 0);
	KUNIT_EXPECT_EQ(test, folio_mapcount(s->folio), 0);
	KUNIT_EXPECT_FALSE(test, folio_test_mlocked(s->folio));
	KUNIT_EXPECT_EQ(test, nr_mlock(s), s->nr_mlock);
	scene_end(test, s);
}

#endif

static int mlock_unmap_init(struct kunit *test)
{
	mm_kunit_init(test);
	return 0;
}

static struct kunit_case mlock_unmap_cases[] = {
	KUNIT_CASE_PARAM(referenced_mlocks_whole_folio, mlock_gen_params),
	KUNIT_CASE_PARAM(referenced_adds_whole_folio_to_nr_mlock,
			 mlock_gen_params),
	KUNIT_CASE_PARAM(pages_in_locked_vma_are_no_reference,
			 mlock_gen_params),
	KUNIT_CASE_PARAM(munmap_takes_back_what_referenced_mlocked,
			 mlock_gen_params),
	KUNIT_CASE_PARAM(folio_in_locked_vma_stays_mapped, mlock_gen_params),
	KUNIT_CASE_PARAM(failed_unmap_mlocks_whole_folio, mlock_gen_params),
	KUNIT_CASE_PARAM(failed_unmap_adds_whole_folio_to_nr_mlock,
			 mlock_gen_params),
	KUNIT_CASE_PARAM(failed_unmap_again_adds_nothing_to_nr_mlock,
			 mlock_gen_params),
	KUNIT_CASE_PARAM(failed_unmap_makes_whole_folio_unevictable,
			 mlock_gen_params),
	KUNIT_CASE_PARAM(munmap_takes_back_what_failed_unmap_mlocked,
			 mlock_gen_params),
#if defined(CONFIG_TRANSPARENT_HUGEPAGE) && defined(CONFIG_SHMEM)
	KUNIT_CASE_PARAM(folio_is_unmapped_if_lock_is_ignored,
			 file_gen_params),
	KUNIT_CASE_PARAM(folio_is_unmapped_if_vma_is_not_locked,
			 file_gen_params),
#endif
	{}
};

static struct kunit_suite mlock_unmap_suite = {
	.name = "mlock_unmap",
	.init = mlock_unmap_init,
	.test_cases = mlock_unmap_cases,
};

kunit_test_suite(mlock_unmap_suite);

MODULE_DESCRIPTION("KUnit tests for reclaim of folios in locked VMAs");
MODULE_LICENSE("GPL");
