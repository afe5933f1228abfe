// SPDX-License-Identifier: GPL-2.0-only
/*
 * Guest time of anonymous write faults, for QEMU with -icount shift=0. To be
 * put into mm/tests/ of a tree with topic kunit, and built with the suites.
 */
#include <kunit/test.h>
#include <linux/ktime.h>
#include <linux/mm.h>
#include <linux/sizes.h>
#include "mm_kunit.h"

MODULE_IMPORT_NS("EXPORTED_FOR_KUNIT_TESTING");

#define REGION SZ_64M

static void touch(struct kunit *test, const char *what, unsigned long addr,
		  bool sparse, unsigned long orders)
{
	unsigned long a;
	long err = 0;
	u64 t;

	t = ktime_get_ns();
	mm_kunit_anon_orders(orders);
	for (a = addr; a < addr + REGION; a += PAGE_SIZE) {
		if (sparse && ((a >> PAGE_SHIFT) & 7) == 7)
			continue;
		err |= put_user(1UL, (unsigned long __user *)a);
	}
	t = ktime_get_ns() - t;
	mm_kunit_anon_orders(0);
	KUNIT_EXPECT_EQ(test, err, 0);
	kunit_info(test, "BENCH %s: %llu ns\n", what, t);
}

static void bench_sparse(struct kunit *test)
{
	unsigned long addr = mm_kunit_map_anon(test, REGION, PMD_SIZE), a;

	for (a = addr + 7 * PAGE_SIZE; a < addr + REGION; a += 8 * PAGE_SIZE)
		KUNIT_ASSERT_EQ(test, 0, mm_kunit_write(a));
	touch(test, "sparse 64M, orders 2-8", addr, true, GENMASK(8, 2));
	mm_kunit_unmap(test, addr, REGION);
}

static void bench_seq28(struct kunit *test)
{
	unsigned long addr = mm_kunit_map_anon(test, REGION, PMD_SIZE);

	touch(test, "sequential 64M, orders 2-8", addr, false, GENMASK(8, 2));
	mm_kunit_unmap(test, addr, REGION);
}

static void bench_seq4(struct kunit *test)
{
	unsigned long addr = mm_kunit_map_anon(test, REGION, PMD_SIZE);

	touch(test, "sequential 64M, order 4", addr, false, BIT(4));
	mm_kunit_unmap(test, addr, REGION);
}

static void bench_seq0(struct kunit *test)
{
	unsigned long addr = mm_kunit_map_anon(test, REGION, PMD_SIZE);

	touch(test, "sequential 64M, no order", addr, false, 0);
	mm_kunit_unmap(test, addr, REGION);
}

static int bench_init(struct kunit *test)
{
	mm_kunit_init(test);
	return 0;
}

static struct kunit_case cases[] = {
	KUNIT_CASE(bench_sparse), KUNIT_CASE(bench_seq28),
	KUNIT_CASE(bench_seq4), KUNIT_CASE(bench_seq0), {}
};

static struct kunit_suite suite = {
	.name = "fault_order_bench", .init = bench_init, .test_cases = cases,
};
kunit_test_suite(suite);
MODULE_DESCRIPTION("Guest time of anonymous write faults");
MODULE_LICENSE("GPL");
