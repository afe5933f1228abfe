// SPDX-License-Identifier: GPL-2.0-only
/*
 * Benchmark of memory management that works on ranges of pages.
 *
 * Each case is a workload, each parameter of it the orders of anonymous large
 * folios that are enabled, and each prints one line:
 *
 *   bench: WORKLOAD/ORDERS bytes=N reps=N ns=N most=N faults=N splits=N flushes=N
 *
 * "ns" is the time of the fastest repetition, "most" of the slowest; the events
 * are those of the fastest. Under QEMU with -icount shift=0 one nanosecond is
 * one instruction. TLB flushes are not printed where they are not counted, that
 * is without CONFIG_DEBUG_TLBFLUSH.
 *
 * Time decides nothing here: a case fails only where its workload did not do
 * what it is named for.
 */
#include <kunit/test.h>
#include <linux/bitops.h>
#include <linux/ktime.h>
#include <linux/mm.h>
#include <linux/mman.h>
#include <linux/moduleparam.h>
#include <linux/sizes.h>
#include <linux/vmstat.h>

#include "mm_kunit.h"

MODULE_IMPORT_NS("EXPORTED_FOR_KUNIT_TESTING");

/* Faults and zeroing: short and often, so that some see no timer interrupt. */
static unsigned int fault_mb = 8;
module_param(fault_mb, uint, 0444);
MODULE_PARM_DESC(fault_mb, "MB to fault in, or to zero, in each repetition");

static unsigned int fault_reps = 10;
module_param(fault_reps, uint, 0444);
MODULE_PARM_DESC(fault_reps, "repetitions of faults and zeroing");

static unsigned int madvise_mb = 1024;
module_param(madvise_mb, uint, 0444);
MODULE_PARM_DESC(madvise_mb, "MB to advise in each repetition");

static unsigned int madvise_reps = 3;
module_param(madvise_reps, uint, 0444);
MODULE_PARM_DESC(madvise_reps, "repetitions of madvise()");

struct sample {
	u64 ns;
	unsigned long faults;
	unsigned long splits;
	unsigned long flushes;
};

/**
 * struct bench - one workload at one set of orders, while it runs
 * @test: the running test.
 * @orders: bitmap of orders to enable.
 * @order: the highest of them, 0 where there is none.
 * @bytes: size of the region.
 * @addr: address of the region, new in each repetition.
 * @reps: repetitions to do.
 * @done: repetitions that have ended.
 * @begin: counters at bench_begin().
 * @least: the fastest repetition.
 * @most: time of the slowest one.
 */
struct bench {
	struct kunit *test;
	unsigned long orders;
	unsigned int order;
	unsigned long bytes;
	unsigned long addr;
	unsigned int reps;
	unsigned int done;
	struct sample begin;
	struct sample least;
	u64 most;
};

#ifdef CONFIG_DEBUG_TLBFLUSH
static const bool flushes_counted = true;

static unsigned long nr_flushes(const unsigned long *events)
{
	return events[NR_TLB_LOCAL_FLUSH_ALL] + events[NR_TLB_LOCAL_FLUSH_ONE] +
	       events[NR_TLB_REMOTE_FLUSH];
}
#else
static const bool flushes_counted;

static unsigned long nr_flushes(const unsigned long *events)
{
	return 0;
}
#endif

static void sample_events(struct sample *sample)
{
	unsigned long events[NR_VM_EVENT_ITEMS];
	int order;

	all_vm_events(events);
	sample->faults = events[PGFAULT];
	sample->flushes = nr_flushes(events);
	sample->splits = 0;
	for (order = 0; order <= PMD_ORDER; order++)
		sample->splits += mm_kunit_mthp_stat(order, MTHP_STAT_SPLIT);
}

/* What is measured is what stands between bench_begin() and bench_end(). */
static void bench_begin(struct bench *bench)
{
	sample_events(&bench->begin);
	bench->begin.ns = ktime_get_ns();
}

static void bench_end(struct bench *bench)
{
	u64 ns = ktime_get_ns() - bench->begin.ns;
	struct sample now;

	sample_events(&now);
	if (!bench->done || ns < bench->least.ns)
		bench->least = (struct sample) {
			.ns = ns,
			.faults = now.faults - bench->begin.faults,
			.splits = now.splits - bench->begin.splits,
			.flushes = now.flushes - bench->begin.flushes,
		};
	bench->most = max(bench->most, ns);
	bench->done++;
}

/* In the tables of orders: the order of a PMD, which is not always constant. */
#define ONE_PMD	(~0UL)

static unsigned long orders_of(const unsigned long *param)
{
	return *param == ONE_PMD ? BIT(PMD_ORDER) : *param;
}

/* The orders that the running test is for, which is all that a case is told. */
static struct bench bench_init(struct kunit *test, unsigned int mb,
			       unsigned int reps)
{
	unsigned long orders = orders_of(test->param_value);

	return (struct bench) {
		.test = test,
		.orders = orders,
		.order = orders ? __fls(orders) : 0,
		.bytes = (unsigned long)mb * SZ_1M,
		.reps = max(reps, 1),
	};
}

static void describe(const unsigned long *param, char *desc)
{
	const unsigned long orders = orders_of(param);
	const int low = orders ? __ffs(orders) : 0;
	const int high = orders ? __fls(orders) : 0;

	if (low == high)
		snprintf(desc, KUNIT_PARAM_DESC_SIZE, "order-%d", high);
	else
		snprintf(desc, KUNIT_PARAM_DESC_SIZE, "orders-%d-%d", low, high);
}

static void bench_report(struct bench *bench)
{
	const struct sample *least = &bench->least;
	char desc[KUNIT_PARAM_DESC_SIZE], flushes[32] = "";

	describe(&bench->orders, desc);
	if (flushes_counted)
		snprintf(flushes, sizeof(flushes), " flushes=%lu",
			 least->flushes);
	kunit_info(bench->test,
		   "bench: %s/%s bytes=%lu reps=%u ns=%llu most=%llu faults=%lu splits=%lu%s\n",
		   bench->test->name, desc, bench->bytes, bench->done,
		   least->ns, bench->most, least->faults, least->splits,
		   flushes);
}

/*
 * Begin a repetition, without what the last one has mapped; false where all have
 * been done, after the line was printed.
 */
static bool bench_next(struct bench *bench)
{
	if (bench->addr)
		mm_kunit_unmap(bench->test, bench->addr, bench->bytes);
	if (bench->done < bench->reps)
		return true;

	bench_report(bench);
	return false;
}

/* A new region that nothing is mapped in, and the orders enabled. */
static void bench_map(struct bench *bench)
{
	bench->addr = mm_kunit_map_anon(bench->test, bench->bytes, PMD_SIZE);
	mm_kunit_anon_orders(bench->orders);
}

/* Write to one page in each @step pages of the region. */
static int touch(struct bench *bench, unsigned long first, unsigned long step)
{
	unsigned long addr = bench->addr + first * PAGE_SIZE;
	int err = 0;

	for (; addr < bench->addr + bench->bytes; addr += step * PAGE_SIZE)
		err |= mm_kunit_write(addr);

	return err;
}

/* That the region begins with a folio of the order that was asked for. */
static void expect_order(struct bench *bench)
{
	KUNIT_EXPECT_EQ_MSG(bench->test, mm_kunit_order(bench->addr),
			    (int)bench->order, "the folio is of another order");
}

static void fault_sequential(struct kunit *test)
{
	struct bench bench = bench_init(test, fault_mb, fault_reps);
	int err;

	while (bench_next(&bench)) {
		bench_map(&bench);

		bench_begin(&bench);
		err = touch(&bench, 0, 1);
		bench_end(&bench);

		KUNIT_EXPECT_EQ(test, err, 0);
		expect_order(&bench);
	}
}

#define SPARSE_PAGES 8

/* The last page of every 8 is there already: no order above 2 fits. */
static void fault_sparse(struct kunit *test)
{
	struct bench bench = bench_init(test, fault_mb, fault_reps);
	int err;

	while (bench_next(&bench)) {
		unsigned long page;

		bench_map(&bench);
		mm_kunit_anon_orders(0);
		err = touch(&bench, SPARSE_PAGES - 1, SPARSE_PAGES);
		mm_kunit_anon_orders(bench.orders);

		bench_begin(&bench);
		for (page = 0; page < bench.bytes / PAGE_SIZE; page++)
			if (page % SPARSE_PAGES != SPARSE_PAGES - 1)
				err |= mm_kunit_write(bench.addr +
						      page * PAGE_SIZE);
		bench_end(&bench);

		KUNIT_EXPECT_EQ(test, err, 0);
		KUNIT_EXPECT_EQ(test, mm_kunit_order(bench.addr), 2);
	}
}

static void madv_free(struct kunit *test)
{
	struct bench bench = bench_init(test, madvise_mb, madvise_reps);
	int err;

	while (bench_next(&bench)) {
		struct mm_kunit_entry entry;

		bench_map(&bench);
		err = touch(&bench, 0, 1UL << bench.order);
		KUNIT_ASSERT_EQ(test, err, 0);

		bench_begin(&bench);
		err = do_madvise(current->mm, bench.addr, bench.bytes,
				 MADV_FREE);
		bench_end(&bench);

		KUNIT_EXPECT_EQ(test, err, 0);
		expect_order(&bench);
		mm_kunit_entry(bench.addr, &entry);
		KUNIT_ASSERT_NOT_NULL(test, entry.folio);
		KUNIT_EXPECT_TRUE_MSG(test, folio_test_anon(entry.folio) &&
				      !folio_test_swapbacked(entry.folio),
				      "the folio was not made lazyfree");
	}
}

static void folio_zero(struct kunit *test)
{
	struct bench bench = bench_init(test, fault_mb, fault_reps);
	unsigned long size = PAGE_SIZE << bench.order, done;
	struct folio *folio = folio_alloc(GFP_KERNEL, bench.order);

	KUNIT_ASSERT_NOT_NULL(test, folio);
	while (bench_next(&bench)) {
		memset(folio_address(folio), 0xaa, size);

		bench_begin(&bench);
		for (done = 0; done < bench.bytes; done += size)
			folio_zero_user(folio, done + size / 2);
		bench_end(&bench);

		KUNIT_EXPECT_NULL(test, memchr_inv(folio_address(folio), 0,
						   size));
	}
	folio_put(folio);
}

/* Each order alone; there are no anonymous folios of order 1. */
static const unsigned long each_order[] = {
	0, BIT(2), BIT(3), BIT(4), BIT(5), BIT(6), BIT(7), BIT(8), ONE_PMD
};

/* The folios of others may have it. */
static const unsigned long each_folio_order[] = {
	0, BIT(1), BIT(2), BIT(3), BIT(4), BIT(5), BIT(6), BIT(7), BIT(8),
	ONE_PMD
};

/* As many as a system may have enabled, without folios that a PMD maps. */
static const unsigned long many_orders[] = { GENMASK(8, 2) };

static const unsigned long each_and_many[] = {
	0, BIT(2), BIT(3), BIT(4), BIT(5), BIT(6), BIT(7), BIT(8), ONE_PMD,
	GENMASK(8, 2)
};

KUNIT_ARRAY_PARAM(each_order, each_order, describe);
KUNIT_ARRAY_PARAM(each_folio_order, each_folio_order, describe);
KUNIT_ARRAY_PARAM(many_orders, many_orders, describe);
KUNIT_ARRAY_PARAM(each_and_many, each_and_many, describe);

static int mm_bench_init(struct kunit *test)
{
	mm_kunit_init(test);
	return 0;
}

#define WORKLOAD(name, orders)						\
	KUNIT_CASE_PARAM_ATTR(name, orders##_gen_params,		\
			      { .speed = KUNIT_SPEED_SLOW })

static struct kunit_case mm_bench_cases[] = {
	WORKLOAD(fault_sequential, each_and_many),
	WORKLOAD(fault_sparse, many_orders),
	WORKLOAD(madv_free, each_order),
	WORKLOAD(folio_zero, each_folio_order),
	{}
};

static struct kunit_suite mm_bench_suite = {
	.name = "mm_bench",
	.init = mm_bench_init,
	.test_cases = mm_bench_cases,
};

kunit_test_suite(mm_bench_suite);

MODULE_DESCRIPTION("Benchmark of memory management that works on ranges");
MODULE_LICENSE("GPL");
