// SPDX-License-Identifier: GPL-2.0-only
/*
 * The workloads of mm/tests/mm_bench_kunit.c through system calls, as the same
 * lines. To be run as root in a VM: it sets which sizes of anonymous large
 * folios are enabled, and leaves all of them off.
 *
 * Usage: mmbench FAULT_MB FAULT_REPS MADVISE_MB MADVISE_REPS
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define THP	"/sys/kernel/mm/transparent_hugepage/hugepages-%lukB/"
#define PMD_ORDER	9
#define SPARSE_PAGES	8
/* As many as a system may have enabled, without folios that a PMD maps. */
#define MANY_ORDERS	(((1UL << 9) - 1) & ~3UL)

struct sample {
	unsigned long long ns;
	long faults, splits, flushes;
};

struct bench {
	const char *name;
	unsigned long orders;
	unsigned int order;
	size_t bytes;
	char *addr;
	unsigned int reps;
	unsigned int done;
	struct sample begin, least;
	unsigned long long most;
};

static unsigned long page_size;
static unsigned int fault_mb, fault_reps, madvise_mb, madvise_reps;

static void die(const char *format, ...)
{
	va_list args;

	printf("mmbench: ");
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	printf(": %s\n", strerror(errno));
	exit(1);
}

static unsigned long kilobytes(unsigned int order)
{
	return (page_size << order) / 1024;
}

/* The number in a file of sysfs. */
static long thp_stat(unsigned int order, const char *name)
{
	char path[128];
	long value;
	FILE *file;

	snprintf(path, sizeof(path), THP "stats/%s", kilobytes(order), name);
	file = fopen(path, "r");
	if (!file)
		return 0;
	if (fscanf(file, "%ld", &value) != 1)
		die("%s", path);
	fclose(file);

	return value;
}

static void enable(unsigned long orders)
{
	unsigned int order;
	char path[128];
	FILE *file;

	for (order = 2; order <= PMD_ORDER; order++) {
		snprintf(path, sizeof(path), THP "enabled", kilobytes(order));
		file = fopen(path, "w");
		if (!file || fputs(orders & 1UL << order ? "always" : "never",
				   file) < 0 || fclose(file))
			die("%s", path);
	}
}

static void sample_events(struct sample *sample)
{
	unsigned int order;
	char name[64];
	long value;
	FILE *file;

	sample->faults = 0;
	sample->splits = 0;
	sample->flushes = -1;
	file = fopen("/proc/vmstat", "r");
	if (!file)
		die("/proc/vmstat");
	while (fscanf(file, "%63s %ld", name, &value) == 2) {
		if (!strcmp(name, "pgfault"))
			sample->faults = value;
		else if (!strcmp(name, "nr_tlb_remote_flush"))
			sample->flushes = value;
		else if (!strcmp(name, "nr_tlb_local_flush_all") ||
			 !strcmp(name, "nr_tlb_local_flush_one"))
			sample->flushes += value;
	}
	fclose(file);
	for (order = 2; order <= PMD_ORDER; order++)
		sample->splits += thp_stat(order, "split");
}

static unsigned long long now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);

	return t.tv_sec * 1000000000ULL + t.tv_nsec;
}

static void bench_begin(struct bench *bench)
{
	sample_events(&bench->begin);
	bench->begin.ns = now();
}

static void bench_end(struct bench *bench)
{
	unsigned long long ns = now() - bench->begin.ns;
	struct sample end;

	sample_events(&end);
	if (!bench->done || ns < bench->least.ns) {
		bench->least.ns = ns;
		bench->least.faults = end.faults - bench->begin.faults;
		bench->least.splits = end.splits - bench->begin.splits;
		bench->least.flushes = end.flushes < 0 ? -1 :
			end.flushes - bench->begin.flushes;
	}
	if (ns > bench->most)
		bench->most = ns;
	bench->done++;
}

static void bench_init(struct bench *bench, const char *name,
		       unsigned long orders, unsigned int mb, unsigned int reps)
{
	memset(bench, 0, sizeof(*bench));
	bench->name = name;
	bench->orders = orders;
	bench->order = orders ? 8 * sizeof(long) - 1 - __builtin_clzl(orders) : 0;
	bench->bytes = (size_t)mb << 20;
	bench->reps = reps;
}

static void bench_report(struct bench *bench)
{
	printf("bench: user.%s/", bench->name);
	if (bench->orders & (bench->orders - 1))
		printf("orders-%d-%u", __builtin_ctzl(bench->orders),
		       bench->order);
	else
		printf("order-%u", bench->order);
	printf(" bytes=%zu reps=%u ns=%llu most=%llu faults=%ld splits=%ld",
	       bench->bytes, bench->done, bench->least.ns, bench->most,
	       bench->least.faults, bench->least.splits);
	if (bench->least.flushes >= 0)
		printf(" flushes=%ld", bench->least.flushes);
	printf("\n");
	fflush(stdout);
}

static int bench_next(struct bench *bench)
{
	if (bench->addr && munmap(bench->addr, bench->bytes))
		die("munmap");
	if (bench->done < bench->reps)
		return 1;

	bench_report(bench);
	return 0;
}

/* Private memory at an address that a folio mapped by a PMD may have. */
static void bench_map(struct bench *bench)
{
	size_t align = page_size << PMD_ORDER;
	char *area, *addr;

	area = mmap(NULL, bench->bytes + align, PROT_NONE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (area == MAP_FAILED)
		die("cannot reserve %zu bytes", bench->bytes);
	addr = (char *)(((unsigned long)area + align - 1) & ~(align - 1));
	munmap(area, bench->bytes + align);
	bench->addr = mmap(addr, bench->bytes, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE,
			   -1, 0);
	if (bench->addr != addr)
		die("cannot map %zu bytes", bench->bytes);
	enable(bench->orders);
}

static void touch(struct bench *bench, size_t first, size_t step)
{
	volatile char *addr = bench->addr + first * page_size;

	for (; addr < bench->addr + bench->bytes; addr += step * page_size)
		*addr = 1;
}

/* That so many folios of the order that was asked for were mapped. */
static void expect_folios(struct bench *bench, long before)
{
	long folios = thp_stat(bench->order, "anon_fault_alloc") - before;

	errno = 0;
	if (bench->order &&
	    folios != (long)(bench->bytes / (page_size << bench->order)))
		die("%s: %ld folios of order %u", bench->name, folios,
		    bench->order);
}

static void fault_sequential(unsigned long orders)
{
	struct bench bench;

	bench_init(&bench, __func__, orders, fault_mb, fault_reps);
	while (bench_next(&bench)) {
		long before = thp_stat(bench.order, "anon_fault_alloc");

		bench_map(&bench);

		bench_begin(&bench);
		touch(&bench, 0, 1);
		bench_end(&bench);

		expect_folios(&bench, before);
	}
}

static void fault_sparse(unsigned long orders)
{
	struct bench bench;
	size_t page;

	bench_init(&bench, __func__, orders, fault_mb, fault_reps);
	while (bench_next(&bench)) {
		volatile char *addr;

		bench_map(&bench);
		addr = bench.addr;
		enable(0);
		touch(&bench, SPARSE_PAGES - 1, SPARSE_PAGES);
		enable(bench.orders);

		bench_begin(&bench);
		for (page = 0; page < bench.bytes / page_size; page++)
			if (page % SPARSE_PAGES != SPARSE_PAGES - 1)
				addr[page * page_size] = 1;
		bench_end(&bench);
	}
}

static void madv_free(unsigned long orders)
{
	struct bench bench;
	int err;

	bench_init(&bench, __func__, orders, madvise_mb, madvise_reps);
	while (bench_next(&bench)) {
		long before = thp_stat(bench.order, "anon_fault_alloc");

		bench_map(&bench);
		touch(&bench, 0, 1UL << bench.order);
		expect_folios(&bench, before);

		bench_begin(&bench);
		err = madvise(bench.addr, bench.bytes, MADV_FREE);
		bench_end(&bench);

		if (err)
			die("madvise");
	}
}

int main(int argc, char **argv)
{
	static const unsigned int orders[] = { 0, 2, 3, 4, 5, 6, 7, 8, 9 };
	const unsigned int nr = sizeof(orders) / sizeof(*orders);
	unsigned int i;

	if (argc != 5) {
		fprintf(stderr, "usage: mmbench FAULT_MB FAULT_REPS MADVISE_MB MADVISE_REPS\n");
		return 2;
	}
	fault_mb = atoi(argv[1]);
	fault_reps = atoi(argv[2]);
	madvise_mb = atoi(argv[3]);
	madvise_reps = atoi(argv[4]);
	page_size = sysconf(_SC_PAGESIZE);

	for (i = 0; i < nr; i++)
		fault_sequential(orders[i] ? 1UL << orders[i] : 0);
	fault_sequential(MANY_ORDERS);
	fault_sparse(MANY_ORDERS);
	for (i = 0; i < nr; i++)
		madv_free(orders[i] ? 1UL << orders[i] : 0);
	enable(0);

	return 0;
}
