// SPDX-License-Identifier: GPL-2.0-only
/*
 * A user address space for KUnit suites that test mm through real faults.
 *
 * A test case runs in a kernel thread of its own. The fixture gives that thread
 * an mm, maps memory at addresses with a chosen alignment, faults it in through
 * the same uaccess functions as the rest of the kernel, and tells what the page
 * tables hold afterwards. All state that outlives the mm is put back by
 * deferred actions, so also after a failed assertion.
 *
 * The mm goes away while the thread of the case exits, and KUnit does not wait
 * for the end of that: a case that counts pages has to unmap them itself.
 */
#include <kunit/resource.h>
#include <kunit/test.h>
#include <kunit/visibility.h>
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/falloc.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/gfp.h>
#include <linux/kstrtox.h>
#include <linux/memcontrol.h>
#include <linux/mm.h>
#include <linux/mman.h>
#include <linux/mmap_lock.h>
#include <linux/mmzone.h>
#include <linux/module.h>
#include <linux/mount.h>
#include <linux/namei.h>
#include <linux/rmap.h>
#include <linux/shmem_fs.h>
#include <linux/sizes.h>
#include <linux/string.h>
#include <linux/topology.h>
#include <linux/uaccess.h>

#include "../internal.h"
#include "mm_kunit.h"

MODULE_IMPORT_NS("EXPORTED_FOR_KUNIT_TESTING");

#ifdef CONFIG_TRANSPARENT_HUGEPAGE
struct anon_orders {
	unsigned long always;
	unsigned long madvise;
	unsigned long inherit;
};

static void anon_orders_restore(void *context)
{
	struct anon_orders *saved = context;

	WRITE_ONCE(huge_anon_orders_always, saved->always);
	WRITE_ONCE(huge_anon_orders_madvise, saved->madvise);
	WRITE_ONCE(huge_anon_orders_inherit, saved->inherit);
}

static void anon_orders_save(struct kunit *test)
{
	struct anon_orders *saved;
	int err;

	saved = kunit_kzalloc(test, sizeof(*saved), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, saved);

	saved->always = READ_ONCE(huge_anon_orders_always);
	saved->madvise = READ_ONCE(huge_anon_orders_madvise);
	saved->inherit = READ_ONCE(huge_anon_orders_inherit);

	err = kunit_add_action_or_reset(test, anon_orders_restore, saved);
	KUNIT_ASSERT_EQ(test, err, 0);
}
#else
static inline void anon_orders_save(struct kunit *test) { }
#endif

/* Attaching is not to be had alone, but the first mapping does it. */
static void attach_mm(struct kunit *test)
{
	unsigned long addr;

	addr = kunit_vm_mmap(test, NULL, 0, PAGE_SIZE, PROT_NONE,
			     MAP_PRIVATE | MAP_ANONYMOUS, 0);
	KUNIT_ASSERT_NE_MSG(test, addr, 0, "no address space");
	KUNIT_ASSERT_LT_MSG(test, addr, (unsigned long)TASK_SIZE,
			    "cannot map a page: %ld", (long)addr);
	KUNIT_ASSERT_EQ(test, 0, vm_munmap(addr, PAGE_SIZE));
}

/**
 * mm_kunit_init() - give the running test an address space of its own
 * @test: The test.
 *
 * Attaches an mm to the thread of @test and switches every size of anonymous
 * large folio off until the end of the test; see mm_kunit_anon_orders(). What
 * was enabled before is put back afterwards. A failure fails an assertion.
 *
 * Context: Thread of the test, which may be in the suite's init function.
 */
void mm_kunit_init(struct kunit *test)
{
	attach_mm(test);
	anon_orders_save(test);
	mm_kunit_anon_orders(0);
}
EXPORT_SYMBOL_IF_KUNIT(mm_kunit_init);

/**
 * mm_kunit_map() - map memory at an aligned address
 * @test: The test.
 * @file: File to map from its start, or NULL.
 * @size: Bytes to map, a multiple of PAGE_SIZE.
 * @align: Alignment of the address in bytes, a power of two, at least
 *	PAGE_SIZE.
 * @prot: PROT_* flags.
 * @flags: MAP_* flags.
 *
 * The mapping is placed in a reserved area that stays inaccessible around it:
 * no other mapping is adjacent, so it is a VMA of exactly @size bytes. A
 * failure fails an assertion.
 *
 * Context: Thread of the test, after mm_kunit_init().
 * Return: The address of the first byte.
 */
unsigned long mm_kunit_map(struct kunit *test, struct file *file,
			   unsigned long size, unsigned long align,
			   unsigned long prot, unsigned long flags)
{
	unsigned long area, addr;

	KUNIT_ASSERT_TRUE(test, IS_ALIGNED(size, PAGE_SIZE));
	KUNIT_ASSERT_TRUE(test, IS_ALIGNED(align, PAGE_SIZE));

	area = kunit_vm_mmap(test, NULL, 0, size + align + 2 * PAGE_SIZE,
			     PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, 0);
	KUNIT_ASSERT_NE_MSG(test, area, 0, "no address space");
	KUNIT_ASSERT_LT_MSG(test, area, (unsigned long)TASK_SIZE,
			    "cannot reserve %lu bytes: %ld", size, (long)area);

	addr = ALIGN(area + PAGE_SIZE, align);
	KUNIT_ASSERT_EQ_MSG(test, addr,
			    kunit_vm_mmap(test, file, addr, size, prot,
					  flags | MAP_FIXED, 0),
			    "cannot map %lu bytes", size);
	return addr;
}
EXPORT_SYMBOL_IF_KUNIT(mm_kunit_map);

/**
 * mm_kunit_map_anon() - map private anonymous memory at an aligned address
 * @test: The test.
 * @size: Bytes to map, a multiple of PAGE_SIZE.
 * @align: Alignment of the address in bytes, a power of two, at least
 *	PAGE_SIZE.
 *
 * Readable and writable; otherwise as mm_kunit_map().
 *
 * Context: Thread of the test, after mm_kunit_init().
 * Return: The address of the first byte.
 */
unsigned long mm_kunit_map_anon(struct kunit *test, unsigned long size,
				unsigned long align)
{
	return mm_kunit_map(test, NULL, size, align, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS);
}
EXPORT_SYMBOL_IF_KUNIT(mm_kunit_map_anon);

/**
 * mm_kunit_unmap() - unmap memory before the test ends
 * @test: The test.
 * @addr: Start of the range.
 * @size: Bytes to unmap, a multiple of PAGE_SIZE.
 *
 * Context: Thread of the test, after mm_kunit_init().
 */
void mm_kunit_unmap(struct kunit *test, unsigned long addr, unsigned long size)
{
	KUNIT_ASSERT_EQ(test, 0, vm_munmap(addr, size));
}
EXPORT_SYMBOL_IF_KUNIT(mm_kunit_unmap);

/**
 * mm_kunit_vma_flags() - change the flags of a mapping
 * @test: The test.
 * @addr: An address in the mapping.
 * @set: VM_* flags to set.
 * @clear: VM_* flags to clear.
 *
 * Writes the flags and nothing else, whatever the flags stand for.
 *
 * Context: Thread of the test, after mm_kunit_init(). Takes the mmap lock for
 *	writing.
 */
void mm_kunit_vma_flags(struct kunit *test, unsigned long addr,
			vm_flags_t set, vm_flags_t clear)
{
	struct vm_area_struct *vma;

	mmap_write_lock(current->mm);
	vma = vma_lookup(current->mm, addr);
	if (vma)
		vm_flags_mod(vma, set, clear);
	mmap_write_unlock(current->mm);

	KUNIT_ASSERT_NOT_NULL(test, vma);
}
EXPORT_SYMBOL_IF_KUNIT(mm_kunit_vma_flags);

/**
 * mm_kunit_write() - write to user memory, with a write fault where needed
 * @addr: User address, aligned to sizeof(long).
 *
 * Context: Thread of the test, after mm_kunit_init(). May sleep.
 * Return: 0, or -EFAULT where the fault cannot be handled.
 */
int mm_kunit_write(unsigned long addr)
{
	return put_user(1UL, (unsigned long __user *)addr);
}
EXPORT_SYMBOL_IF_KUNIT(mm_kunit_write);

/**
 * mm_kunit_read() - read from user memory, with a read fault where needed
 * @addr: User address, aligned to sizeof(long).
 *
 * Context: Thread of the test, after mm_kunit_init(). May sleep.
 * Return: 0, or -EFAULT where the fault cannot be handled.
 */
int mm_kunit_read(unsigned long addr)
{
	unsigned long val __maybe_unused;

	return get_user(val, (unsigned long __user *)addr);
}
EXPORT_SYMBOL_IF_KUNIT(mm_kunit_read);

static void entry_set_page(struct mm_kunit_entry *entry, struct page *page)
{
	entry->folio = page_folio(page);
	entry->page = folio_page_idx(entry->folio, page);
	entry->order = folio_order(entry->folio);
}

/**
 * mm_kunit_entry() - look up what an address maps
 * @addr: User address.
 * @entry: Filled in.
 *
 * Context: Thread of the test, after mm_kunit_init(). Takes the mmap lock for
 *	reading and the page table lock, so the fields belong together.
 */
void mm_kunit_entry(unsigned long addr, struct mm_kunit_entry *entry)
{
	struct mm_struct *mm = current->mm;
	spinlock_t *ptl; /* of the page table */
	pmd_t *pmd;
	pte_t *pte;

	*entry = (struct mm_kunit_entry){ .pte = __pte(0), .order = -1 };

	mmap_read_lock(mm);
	pmd = mm_find_pmd(mm, addr);
	if (!pmd)
		goto unlock;

	pte = pte_offset_map_lock(mm, pmd, addr, &ptl);
	if (pte) {
		/* For sparse, which pte_offset_map_lock() does not tell. */
		__acquire(ptl);
		entry->pte = ptep_get(pte);
		if (pte_present(entry->pte)) {
			unsigned long pfn = pte_pfn(entry->pte);

			if (is_zero_pfn(pfn))
				entry->zeropage = true;
			else if (!pte_special(entry->pte))
				entry_set_page(entry, pfn_to_page(pfn));
		}
		pte_unmap_unlock(pte, ptl);
		goto unlock;
	}

#ifdef CONFIG_TRANSPARENT_HUGEPAGE
	ptl = pmd_lock(mm, pmd);
	if (pmd_present(*pmd) && pmd_leaf(*pmd)) {
		entry->huge = true;
		entry_set_page(entry,
			       pfn_to_page(pmd_pfn(*pmd) + pte_index(addr)));
	}
	spin_unlock(ptl);
#endif
unlock:
	mmap_read_unlock(mm);
}
EXPORT_SYMBOL_IF_KUNIT(mm_kunit_entry);

/**
 * mm_kunit_ptes() - copy page table entries
 * @addr: User address of the first page.
 * @nr: Number of pages. The range may span page tables.
 * @ptes: Filled in, one entry a page; none where there is no page table.
 *
 * Context: Thread of the test, after mm_kunit_init(). Takes the mmap lock for
 *	reading, and the lock of each page table once for all its entries.
 */
void mm_kunit_ptes(unsigned long addr, unsigned int nr, pte_t *ptes)
{
	struct mm_struct *mm = current->mm;

	mmap_read_lock(mm);
	while (nr) {
		unsigned int i, batch;
		pte_t *pte = NULL;
		spinlock_t *ptl; /* of the page table */
		pmd_t *pmd;

		batch = min_t(unsigned int, nr, PTRS_PER_PTE - pte_index(addr));
		pmd = mm_find_pmd(mm, addr);
		if (pmd)
			pte = pte_offset_map_lock(mm, pmd, addr, &ptl);
		if (pte) {
			__acquire(ptl);
			for (i = 0; i < batch; i++)
				ptes[i] = ptep_get(pte + i);
			pte_unmap_unlock(pte, ptl);
		} else {
			memset(ptes, 0, batch * sizeof(*ptes));
		}

		addr += batch * PAGE_SIZE;
		ptes += batch;
		nr -= batch;
	}
	mmap_read_unlock(mm);
}
EXPORT_SYMBOL_IF_KUNIT(mm_kunit_ptes);

/**
 * mm_kunit_order() - the order of the folio mapped at an address
 * @addr: User address.
 *
 * Context: As mm_kunit_entry().
 * Return: The order, or -1 where no folio is mapped: nothing present, or the
 *	zero page.
 */
int mm_kunit_order(unsigned long addr)
{
	struct mm_kunit_entry entry;

	mm_kunit_entry(addr, &entry);
	return entry.order;
}
EXPORT_SYMBOL_IF_KUNIT(mm_kunit_order);

/**
 * mm_kunit_folio_mapped_whole() - whether a folio is mapped by all its PTEs
 * @addr: User address of any page of the folio.
 *
 * Context: As mm_kunit_entry().
 * Return: true if a folio is mapped at @addr and the pages around @addr map all
 *	its pages, in order; false otherwise, so also where nothing is mapped.
 */
bool mm_kunit_folio_mapped_whole(unsigned long addr)
{
	struct mm_kunit_entry entry;
	struct folio *folio;
	unsigned long i;

	mm_kunit_entry(addr, &entry);
	folio = entry.folio;
	if (!folio || entry.huge)
		return folio;

	addr = PAGE_ALIGN_DOWN(addr) - entry.page * PAGE_SIZE;
	for (i = 0; i < 1UL << entry.order; i++) {
		struct mm_kunit_entry e;

		mm_kunit_entry(addr + i * PAGE_SIZE, &e);
		if (e.folio != folio || e.page != i)
			return false;
	}

	return true;
}
EXPORT_SYMBOL_IF_KUNIT(mm_kunit_folio_mapped_whole);

/**
 * mm_kunit_referenced() - look for references to a folio, as reclaim does
 * @folio: The folio.
 * @mlocked: Set to whether the folio was found in a locked VMA and mlocked.
 *
 * Context: Process context. The caller holds the lock of @folio.
 * Return: How many mappings have referenced @folio, or -1 if a lock was
 *	contended.
 */
int mm_kunit_referenced(struct folio *folio, bool *mlocked)
{
	unsigned long vm_flags;
	int referenced;

	referenced = folio_referenced(folio, 1, NULL, &vm_flags);
	*mlocked = vm_flags & VM_LOCKED;

	return referenced;
}
EXPORT_SYMBOL_IF_KUNIT(mm_kunit_referenced);

/**
 * mm_kunit_anon_orders() - choose the sizes of anonymous large folios
 * @orders: Bitmap of orders, as in huge_anon_orders_always.
 *
 * Enables exactly @orders, in every VMA, whatever the global THP setting is. No
 * effect without CONFIG_TRANSPARENT_HUGEPAGE.
 *
 * Context: Thread of the test, after mm_kunit_init(), which has arranged for
 *	the setting to be put back. The setting is the system's: other tasks
 *	follow it meanwhile.
 */
void mm_kunit_anon_orders(unsigned long orders)
{
#ifdef CONFIG_TRANSPARENT_HUGEPAGE
	WRITE_ONCE(huge_anon_orders_always, orders);
	WRITE_ONCE(huge_anon_orders_madvise, 0);
	WRITE_ONCE(huge_anon_orders_inherit, 0);
#endif
}
EXPORT_SYMBOL_IF_KUNIT(mm_kunit_anon_orders);

/**
 * mm_kunit_mthp_stat() - read a counter of large folios
 * @order: Order of the folios, from 0 to PMD_ORDER.
 * @item: The counter.
 *
 * Context: Any. The counter is the system's, so compare two readings.
 * Return: The sum over all possible CPUs; 0 where the kernel does not count.
 */
unsigned long mm_kunit_mthp_stat(int order, enum mthp_stat_item item)
{
#if defined(CONFIG_TRANSPARENT_HUGEPAGE) && defined(CONFIG_SYSFS)
	return sum_mthp_stat(order, item);
#else
	return 0;
#endif
}
EXPORT_SYMBOL_IF_KUNIT(mm_kunit_mthp_stat);

struct page_range {
	struct page *first;
	unsigned long nr;
};

static void free_page_range(void *context)
{
	struct page_range *range = context;

	if (range->nr <= MAX_ORDER_NR_PAGES)
		__free_pages(range->first, order_base_2(range->nr));
#ifdef CONFIG_CONTIG_ALLOC
	else
		free_contig_range(page_to_pfn(range->first), range->nr);
#endif
}

/**
 * mm_kunit_alloc_pages() - get pages that are contiguous
 * @test: The test.
 * @nr: Number of pages; MAX_ORDER_NR_PAGES at most without
 *	CONFIG_CONTIG_ALLOC.
 * @gfp: What memory, as for alloc_pages().
 *
 * The pages are no folio, and hold what they held. A failure fails an
 * assertion.
 *
 * Context: Thread of the test.
 * Return: The first of the pages, which are freed at the end of the test.
 */
struct page *mm_kunit_alloc_pages(struct kunit *test, unsigned long nr,
				  gfp_t gfp)
{
	struct page_range *range;
	int err;

	range = kunit_kzalloc(test, sizeof(*range), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, range);
	range->nr = nr;
	if (nr <= MAX_ORDER_NR_PAGES)
		range->first = alloc_pages(gfp, order_base_2(nr));
#ifdef CONFIG_CONTIG_ALLOC
	else
		range->first = alloc_contig_pages(nr, gfp, numa_mem_id(), NULL);
#endif
	KUNIT_ASSERT_NOT_NULL(test, range->first);
	err = kunit_add_action_or_reset(test, free_page_range, range);
	KUNIT_ASSERT_EQ(test, err, 0);

	return range->first;
}
EXPORT_SYMBOL_IF_KUNIT(mm_kunit_alloc_pages);

#if defined(CONFIG_SHMEM) || defined(CONFIG_MEMCG) || defined(CONFIG_HUGETLBFS)
static void put_mount(void *context)
{
	mntput(context);
}

/*
 * A mount that nobody else sees. All callers' file systems are built in, so
 * the reference that get_fs_type() takes on their module is none.
 */
static struct vfsmount *private_mount(struct kunit *test, const char *type,
				      const char *options)
{
	struct file_system_type *fs = get_fs_type(type);
	char buf[32] = "";
	struct vfsmount *mnt;
	int err;

	if (!fs)
		return ERR_PTR(-ENODEV);

	if (options)
		strscpy(buf, options);
	mnt = vfs_kern_mount(fs, 0, type, options ? buf : NULL);
	if (IS_ERR(mnt))
		return mnt;

	err = kunit_add_action_or_reset(test, put_mount, mnt);

	return err ? ERR_PTR(err) : mnt;
}
#endif

#if defined(CONFIG_MEMCG) || defined(CONFIG_HUGETLBFS) || \
	(defined(CONFIG_SHMEM) && defined(CONFIG_TRANSPARENT_HUGEPAGE))
static struct file *open_file(struct vfsmount *mnt, const char *name, int flags)
{
	const struct path root = { .mnt = mnt, .dentry = mnt->mnt_root };

	return file_open_root(&root, name, flags, 0600);
}

static int write_file(struct vfsmount *mnt, const char *name, const char *val)
{
	struct file *file = open_file(mnt, name, O_WRONLY);
	loff_t pos = 0;
	ssize_t ret;

	if (IS_ERR(file))
		return PTR_ERR(file);
	ret = kernel_write(file, val, strlen(val), &pos);
	fput(file);

	return ret < 0 ? ret : 0;
}

static int read_file(struct vfsmount *mnt, const char *name, char *buf,
		     size_t size)
{
	struct file *file = open_file(mnt, name, O_RDONLY);
	loff_t pos = 0;
	ssize_t ret;

	if (IS_ERR(file))
		return PTR_ERR(file);
	ret = kernel_read(file, buf, size - 1, &pos);
	fput(file);
	if (ret < 0)
		return ret;

	buf[ret] = '\0';
	return 0;
}
#endif

#ifdef CONFIG_SHMEM
static void put_file(void *context)
{
	fput(context);
}

#ifdef CONFIG_TRANSPARENT_HUGEPAGE
struct shmem_policy {
	struct vfsmount *mnt;
	char name[80];
	char old[16];
};

static void shmem_policy_restore(void *context)
{
	struct shmem_policy *policy = context;
	int err = write_file(policy->mnt, policy->name, policy->old);

	if (err)
		pr_err("cannot put back what shared memory may use: %pe\n",
		       ERR_PTR(err));
}

/* Let shared anonymous memory have folios of this order. */
static struct shmem_policy *shmem_policy_allow(struct kunit *test,
					       unsigned int order)
{
	struct shmem_policy *policy;
	char buf[64], *old, *end;
	int err;

	policy = kunit_kzalloc(test, sizeof(*policy), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, policy);
	policy->mnt = private_mount(test, "sysfs", NULL);
	KUNIT_ASSERT_FALSE_MSG(test, IS_ERR(policy->mnt),
			       "cannot mount sysfs: %pe", policy->mnt);
	snprintf(policy->name, sizeof(policy->name),
		 "kernel/mm/transparent_hugepage/hugepages-%lukB/shmem_enabled",
		 (PAGE_SIZE << order) / SZ_1K);

	/* What applies stands in brackets. */
	err = read_file(policy->mnt, policy->name, buf, sizeof(buf));
	KUNIT_ASSERT_EQ(test, err, 0);
	old = strchr(buf, '[');
	KUNIT_ASSERT_NOT_NULL(test, old);
	end = strchr(++old, ']');
	KUNIT_ASSERT_NOT_NULL(test, end);
	*end = '\0';
	strscpy(policy->old, old);

	err = kunit_add_action_or_reset(test, shmem_policy_restore, policy);
	KUNIT_ASSERT_EQ(test, err, 0);
	err = write_file(policy->mnt, policy->name, "always");
	KUNIT_ASSERT_EQ(test, err, 0);

	return policy;
}

/*
 * A write to a file gets folios of one page, or of PMD_ORDER. But a file that
 * has no name, when it is mapped, is shared anonymous memory, and a fault there
 * gets the order that is allowed.
 */
static void alloc_in_file(struct kunit *test, struct file *file,
			  unsigned int order)
{
	unsigned long size = PAGE_SIZE << order;
	struct shmem_policy *policy;
	unsigned long addr;

	if (!order)
		return;

	policy = shmem_policy_allow(test, order);
	addr = mm_kunit_map(test, file, size, size, PROT_READ, MAP_SHARED);
	KUNIT_ASSERT_EQ(test, 0, mm_kunit_read(addr));
	mm_kunit_unmap(test, addr, size);
	kunit_release_action(test, shmem_policy_restore, policy);
}
#else
static inline void alloc_in_file(struct kunit *test, struct file *file,
				 unsigned int order) { }
#endif

/**
 * mm_kunit_shmem_file() - make a file in memory that is one large folio
 * @test: The test.
 * @order: Order of the folio, which is also the size of the file.
 *
 * A failure fails an assertion. That the page cache really holds one folio has
 * to be seen by mapping it.
 *
 * Context: Thread of the test, after mm_kunit_init().
 * Return: The file, open for reading and writing until the end of the test.
 */
struct file *mm_kunit_shmem_file(struct kunit *test, unsigned int order)
{
	unsigned long size = PAGE_SIZE << order;
	struct vfsmount *mnt;
	struct file *file;
	loff_t pos = 0;
	void *buf;
	int err;

	mnt = private_mount(test, "tmpfs", NULL);
	KUNIT_ASSERT_FALSE_MSG(test, IS_ERR(mnt), "cannot mount tmpfs: %pe",
			       mnt);

	file = shmem_file_setup_with_mnt(mnt, "mm_kunit", size, 0);
	KUNIT_ASSERT_FALSE_MSG(test, IS_ERR(file), "cannot make a file: %pe",
			       file);
	err = kunit_add_action_or_reset(test, put_file, file);
	KUNIT_ASSERT_EQ(test, err, 0);

	/* The write finds the folio in place and makes it dirty. */
	alloc_in_file(test, file, order);
	buf = kunit_kzalloc(test, size, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, buf);
	KUNIT_ASSERT_EQ(test, kernel_write(file, buf, size, &pos), size);

	return file;
}
EXPORT_SYMBOL_IF_KUNIT(mm_kunit_shmem_file);
#endif /* CONFIG_SHMEM */

#ifdef CONFIG_HUGETLBFS
struct huge_pool {
	struct vfsmount *mnt;
	unsigned long size;
	unsigned long nr;
};

static void pool_attr(const struct huge_pool *pool, const char *attr,
		      char *name, size_t len)
{
	snprintf(name, len, "kernel/mm/hugepages/hugepages-%lukB/%s",
		 pool->size / SZ_1K, attr);
}

static int pool_read(const struct huge_pool *pool, const char *attr,
		     unsigned long *val)
{
	char name[64], buf[32];
	int err;

	pool_attr(pool, attr, name, sizeof(name));
	err = read_file(pool->mnt, name, buf, sizeof(buf));

	return err ?: kstrtoul(strim(buf), 10, val);
}

static int pool_resize(const struct huge_pool *pool, unsigned long nr)
{
	char name[64], buf[32];

	pool_attr(pool, "nr_hugepages", name, sizeof(name));
	snprintf(buf, sizeof(buf), "%lu", nr);

	return write_file(pool->mnt, name, buf);
}

static void pool_restore(void *context)
{
	int err = pool_resize(context, ((struct huge_pool *)context)->nr);

	if (err)
		pr_err("cannot put back the number of huge pages: %pe\n",
		       ERR_PTR(err));
}

/* Whether there is a huge page that nobody uses or counts on */
static bool pool_has_page(const struct huge_pool *pool)
{
	unsigned long nr_free, resv;

	return !pool_read(pool, "free_hugepages", &nr_free) &&
	       !pool_read(pool, "resv_hugepages", &resv) && nr_free > resv;
}

static bool pool_get_page(struct kunit *test, unsigned long size)
{
	struct huge_pool *pool;
	int err;

	pool = kunit_kzalloc(test, sizeof(*pool), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, pool);
	pool->size = size;
	pool->mnt = private_mount(test, "sysfs", NULL);
	if (IS_ERR(pool->mnt) || pool_read(pool, "nr_hugepages", &pool->nr))
		return false;

	if (pool_has_page(pool))
		return true;

	err = kunit_add_action_or_reset(test, pool_restore, pool);
	KUNIT_ASSERT_EQ(test, err, 0);
	pool_resize(pool, pool->nr + 1);

	return pool_has_page(pool);
}

static void put_hugetlb_file(void *context)
{
	struct file *file = context;

	/* The inode goes away later, the huge page must not. */
	vfs_fallocate(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0,
		      i_size_read(file_inode(file)));
	fput(file);
}

/**
 * mm_kunit_hugetlb_file() - make an empty file for a huge page
 * @test: The test.
 * @size: Size of the huge page in bytes.
 *
 * Sees to it that there is a huge page for the file, which the first access
 * will allocate; if need be, the pool has one more until the end of the test.
 *
 * Context: Thread of the test.
 * Return: The file, open for reading and writing until the end of the test, or
 *	NULL where the machine has no huge page of this size to give.
 */
struct file *mm_kunit_hugetlb_file(struct kunit *test, unsigned long size)
{
	struct vfsmount *mnt;
	struct file *file;
	char options[32];
	int err;

	if (!pool_get_page(test, size))
		return NULL;

	snprintf(options, sizeof(options), "pagesize=%lu", size);
	mnt = private_mount(test, "hugetlbfs", options);
	KUNIT_ASSERT_FALSE_MSG(test, IS_ERR(mnt), "cannot mount hugetlbfs: %pe",
			       mnt);

	file = open_file(mnt, "mm_kunit", O_RDWR | O_CREAT);
	KUNIT_ASSERT_FALSE_MSG(test, IS_ERR(file), "cannot make a file: %pe",
			       file);
	err = kunit_add_action_or_reset(test, put_hugetlb_file, file);
	KUNIT_ASSERT_EQ(test, err, 0);

	return file;
}
EXPORT_SYMBOL_IF_KUNIT(mm_kunit_hugetlb_file);
#endif /* CONFIG_HUGETLBFS */

#ifdef CONFIG_MEMCG
#define MEMCG_NAME "mm_kunit"

struct mm_kunit_memcg {
	struct vfsmount *mnt;
	bool made;
	bool enabled;
};

static int cgroup_mkdir(struct mm_kunit_memcg *memcg)
{
	struct dentry *root = memcg->mnt->mnt_root;
	struct dentry *dir;
	int ret;

	inode_lock_nested(d_inode(root), I_MUTEX_PARENT);
	dir = lookup_one_len(MEMCG_NAME, root, strlen(MEMCG_NAME));
	ret = PTR_ERR_OR_ZERO(dir);
	if (!ret) {
		ret = vfs_mkdir(&nop_mnt_idmap, d_inode(root), dir, 0755);
		dput(dir);
	}
	inode_unlock(d_inode(root));

	return ret;
}

static int cgroup_rmdir(struct mm_kunit_memcg *memcg)
{
	struct dentry *root = memcg->mnt->mnt_root;
	struct dentry *dir;
	int ret;

	inode_lock_nested(d_inode(root), I_MUTEX_PARENT);
	dir = lookup_one_len(MEMCG_NAME, root, strlen(MEMCG_NAME));
	ret = PTR_ERR_OR_ZERO(dir);
	if (!ret) {
		ret = vfs_rmdir(&nop_mnt_idmap, d_inode(root), dir);
		dput(dir);
	}
	inode_unlock(d_inode(root));

	return ret;
}

static void memcg_undo(void *context)
{
	struct mm_kunit_memcg *memcg = context;
	int tries = 100, ret = 0;

	/* After a failed assertion the thread may still be on its way out. */
	while (memcg->made && (ret = cgroup_rmdir(memcg)) == -EBUSY && tries--)
		msleep(20);
	if (ret)
		pr_err("cannot remove the cgroup: %pe\n", ERR_PTR(ret));

	if (memcg->enabled)
		write_file(memcg->mnt, "cgroup.subtree_control", "-memory");
}

/**
 * mm_kunit_memcg_enter() - charge the pages of the test to a small memory cgroup
 * @test: The test.
 * @max_pages: Limit of the cgroup in pages. Below the size of a per-CPU batch
 *	of charges, so that its usage is exact.
 *
 * Moves the thread of @test, which owns the mm, to a new cgroup of version 2.
 * User pages that it faults in from now on are charged there; page tables and
 * other kernel memory of a kernel thread are not. Skips @test where the memory
 * controller is not available; any other failure fails an assertion. The cgroup
 * is removed after the test.
 *
 * Context: Thread of the test, after mm_kunit_init().
 * Return: The cgroup.
 */
struct mm_kunit_memcg *mm_kunit_memcg_enter(struct kunit *test,
					    unsigned int max_pages)
{
	struct mm_kunit_memcg *memcg;
	char buf[128];
	int err;

	memcg = kunit_kzalloc(test, sizeof(*memcg), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, memcg);
	memcg->mnt = private_mount(test, "cgroup2", NULL);
	KUNIT_ASSERT_FALSE_MSG(test, IS_ERR(memcg->mnt),
			       "cannot mount cgroup2: %pe", memcg->mnt);
	err = kunit_add_action_or_reset(test, memcg_undo, memcg);
	KUNIT_ASSERT_EQ(test, err, 0);

	err = read_file(memcg->mnt, "cgroup.controllers", buf, sizeof(buf));
	KUNIT_ASSERT_EQ(test, err, 0);
	if (!strstr(buf, "memory"))
		kunit_skip(test, "no memory controller in cgroup version 2");

	err = read_file(memcg->mnt, "cgroup.subtree_control", buf, sizeof(buf));
	KUNIT_ASSERT_EQ(test, err, 0);
	if (!strstr(buf, "memory")) {
		err = write_file(memcg->mnt, "cgroup.subtree_control", "+memory");
		KUNIT_ASSERT_EQ(test, err, 0);
		memcg->enabled = true;
	}

	err = cgroup_mkdir(memcg);
	KUNIT_ASSERT_EQ(test, err, 0);
	memcg->made = true;

	snprintf(buf, sizeof(buf), "%lu", max_pages * PAGE_SIZE);
	err = write_file(memcg->mnt, MEMCG_NAME "/memory.max", buf);
	KUNIT_ASSERT_EQ(test, err, 0);
	err = write_file(memcg->mnt, MEMCG_NAME "/cgroup.procs", "0");
	KUNIT_ASSERT_EQ(test, err, 0);

	return memcg;
}
EXPORT_SYMBOL_IF_KUNIT(mm_kunit_memcg_enter);

/**
 * mm_kunit_memcg_pages() - how many pages are charged to the cgroup
 * @test: The test.
 * @memcg: The cgroup.
 *
 * Context: Thread of the test.
 * Return: Number of pages.
 */
unsigned long mm_kunit_memcg_pages(struct kunit *test,
				   struct mm_kunit_memcg *memcg)
{
	unsigned long bytes = 0;
	char buf[32];
	int err;

	err = read_file(memcg->mnt, MEMCG_NAME "/memory.current", buf,
			sizeof(buf));
	KUNIT_ASSERT_EQ(test, err, 0);
	err = kstrtoul(strim(buf), 10, &bytes);
	KUNIT_ASSERT_EQ(test, err, 0);

	return bytes >> PAGE_SHIFT;
}
EXPORT_SYMBOL_IF_KUNIT(mm_kunit_memcg_pages);

/**
 * mm_kunit_memcg_leave() - move the thread of the test out of the cgroup
 * @test: The test.
 * @memcg: The cgroup.
 *
 * What is charged stays charged. A test that ends without this call is cleaned
 * up after as well, but takes longer.
 *
 * Context: Thread of the test.
 */
void mm_kunit_memcg_leave(struct kunit *test, struct mm_kunit_memcg *memcg)
{
	KUNIT_EXPECT_EQ(test, 0, write_file(memcg->mnt, "cgroup.procs", "0"));
}
EXPORT_SYMBOL_IF_KUNIT(mm_kunit_memcg_leave);
#endif /* CONFIG_MEMCG */

MODULE_DESCRIPTION("User address space for KUnit suites of mm");
MODULE_LICENSE("GPL");
