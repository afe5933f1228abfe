/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A user address space for KUnit suites that test mm through real faults.
 */
#ifndef _MM_TESTS_MM_KUNIT_H
#define _MM_TESTS_MM_KUNIT_H

#include <linux/huge_mm.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/pgtable.h>

/*
 * A suite names the namespace by a string, as later kernels want it, so that
 * one text of the suite is good for them and for this one.
 */
#undef MODULE_IMPORT_NS
#define MODULE_IMPORT_NS(ns) MODULE_INFO(import_ns, ns)

/* The arguments of a function that generates the parameters of a case */
#define MM_KUNIT_PARAM_ARGS const void *prev, char *desc

/* The order of the largest folio, which may be larger than a memory section */
#ifdef CONFIG_ARCH_HAS_GIGANTIC_PAGE
#define MM_KUNIT_MAX_ORDER (PUD_SHIFT - PAGE_SHIFT)
#else
#define MM_KUNIT_MAX_ORDER MAX_PAGE_ORDER
#endif

/* Where the number of pages of a large folio is stored, if it is */
#ifdef CONFIG_64BIT
#define MM_KUNIT_NR_PAGES(folio) ((folio)->_folio_nr_pages)
#endif

/* A model of preemption that later kernels have */
static inline bool preempt_model_lazy(void)
{
	return false;
}

struct file;
struct kunit;
struct mm_kunit_memcg;

/**
 * struct mm_kunit_entry - what a user address maps
 * @pte: the entry as read under the page table lock; none where there is no
 *	page table, and not meaningful where @huge is set.
 * @folio: the mapped folio, or NULL. Holds no reference: compare it, or use it
 *	only while the mapping is known to stay.
 * @page: index of the mapped page within @folio.
 * @order: order of @folio, or -1 where no folio is mapped.
 * @zeropage: the shared zero page is mapped. @folio is NULL then.
 * @huge: the address is mapped by a leaf PMD. A huge zero folio is a @folio.
 */
struct mm_kunit_entry {
	pte_t pte;
	struct folio *folio;
	unsigned long page;
	int order;
	bool zeropage;
	bool huge;
};

void mm_kunit_init(struct kunit *test);

unsigned long mm_kunit_map(struct kunit *test, struct file *file,
			   unsigned long size, unsigned long align,
			   unsigned long prot, unsigned long flags);
unsigned long mm_kunit_map_anon(struct kunit *test, unsigned long size,
				unsigned long align);
void mm_kunit_unmap(struct kunit *test, unsigned long addr,
		    unsigned long size);
void mm_kunit_vma_flags(struct kunit *test, unsigned long addr,
			vm_flags_t set, vm_flags_t clear);

int mm_kunit_write(unsigned long addr);
int mm_kunit_read(unsigned long addr);

void mm_kunit_entry(unsigned long addr, struct mm_kunit_entry *entry);
void mm_kunit_ptes(unsigned long addr, unsigned int nr, pte_t *ptes);
int mm_kunit_order(unsigned long addr);
bool mm_kunit_folio_mapped_whole(unsigned long addr);

int mm_kunit_referenced(struct folio *folio, bool *mlocked);

void mm_kunit_anon_orders(unsigned long orders);
unsigned long mm_kunit_mthp_stat(int order, enum mthp_stat_item item);

struct page *mm_kunit_alloc_pages(struct kunit *test, unsigned long nr,
				  gfp_t gfp);

struct file *mm_kunit_shmem_file(struct kunit *test, unsigned int order);
struct file *mm_kunit_hugetlb_file(struct kunit *test, unsigned long size);

struct mm_kunit_memcg *mm_kunit_memcg_enter(struct kunit *test,
					    unsigned int max_pages);
unsigned long mm_kunit_memcg_pages(struct kunit *test,
				   struct mm_kunit_memcg *memcg);
void mm_kunit_memcg_leave(struct kunit *test, struct mm_kunit_memcg *memcg);

#endif /* _MM_TESTS_MM_KUNIT_H */
