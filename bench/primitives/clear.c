// SPDX-License-Identifier: GPL-2.0-only
/*
 * How fast the kernel's clear_page() and clear_pages() clear 2 MB pages.
 *
 * PAGE_64_H is arch/x86/include/asm/page_64.h of the tree to measure, VARIANT
 * the alternative to take; see include/stand_in.h.
 *
 * Usage: clear NAME FIRST REGION_MB CHUNK...
 *
 * For each chunk in bytes the whole region is cleared in such chunks, once page
 * by page and once by range, "page" or "range" FIRST, and then as the tree's
 * folio_zero_user() would do it if each chunk was a folio and the fault in its
 * first page. A line tells the nanoseconds of all three.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include PAGE_64_H

#define HUGE (2UL << 20)
#define BUDDY_MAX (4UL << 20)	/* a larger folio is gigantic */
#define HOT_PAGES 3UL		/* the page of the fault and two on its right */

static void die(const char *what)
{
	fprintf(stderr, "clear: %s: %s\n", what, strerror(errno));
	exit(1);
}

static unsigned long long now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);

	return t.tv_sec * 1000000000ULL + t.tv_nsec;
}

/* How much of this process's memory is mapped by huge pages, in KB. */
static unsigned long huge_kb(void)
{
	unsigned long total = 0, value;
	char line[256];
	FILE *file;

	file = fopen("/proc/self/smaps", "r");
	if (!file)
		die("/proc/self/smaps");
	while (fgets(line, sizeof(line), file))
		if (sscanf(line, "AnonHugePages: %lu kB", &value) == 1)
			total += value;
	fclose(file);

	return total;
}

static char *map_huge(size_t size)
{
	char *area, *region;
	size_t at;

	area = mmap(NULL, size + HUGE, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (area == MAP_FAILED)
		die("no memory");
	region = (char *)(((unsigned long)area + HUGE - 1) & ~(HUGE - 1));
	if (madvise(region, size, MADV_HUGEPAGE))
		die("no huge pages: /sys/kernel/mm/transparent_hugepage/enabled");
	for (at = 0; at < size; at += HUGE)
		region[at] = 1;
	errno = ENOMEM;
	if (huge_kb() < size >> 10)
		die("the region is not mapped by huge pages");
	memset(region, 0xaa, size);

	return region;
}

static unsigned long long by_page(char *region, size_t size, size_t chunk)
{
	unsigned long long begin = now();
	size_t at, page;

	for (at = 0; at < size; at += chunk)
		for (page = 0; page < chunk; page += PAGE_SIZE)
			clear_page(region + at + page);

	return now() - begin;
}

static unsigned long long by_range(char *region, size_t size, size_t chunk)
{
#ifdef clear_pages
	unsigned long long begin = now();
	size_t at;

	for (at = 0; at < size; at += chunk)
		clear_pages(region + at, chunk >> PAGE_SHIFT);

	return now() - begin;
#else
	/* What a kernel without clear_pages() does with a range. */
	return by_page(region, size, chunk);
#endif
}

static unsigned long long by_fault(char *region, size_t size, size_t chunk)
{
	unsigned long long begin = now();
	size_t at;

#ifdef clear_pages
	/* What is on the right of the fault, and then the pages around it. */
	for (at = 0; at < size; at += chunk) {
		char *rest = region + at + HOT_PAGES * PAGE_SIZE;

		clear_pages(rest, (chunk >> PAGE_SHIFT) - HOT_PAGES);
		clear_pages(region + at, HOT_PAGES);
	}
#else
	size_t page;

	/* From the far end towards the fault, a gigantic folio from the start. */
	if (chunk > BUDDY_MAX)
		return by_page(region, size, chunk);
	for (at = 0; at < size; at += chunk)
		for (page = chunk; page; page -= PAGE_SIZE)
			clear_page(region + at + page - PAGE_SIZE);
#endif

	return now() - begin;
}

int main(int argc, char **argv)
{
	char *region;
	size_t size;
	int i;

	if (argc < 5) {
		fprintf(stderr, "usage: clear NAME FIRST REGION_MB CHUNK...\n");
		return 2;
	}
	size = strtoul(argv[3], NULL, 10) << 20;
	region = map_huge(size);

	for (i = 4; i < argc; i++) {
		size_t chunk = strtoul(argv[i], NULL, 10);
		unsigned long long page, range, fault;

		if (!strcmp(argv[2], "range")) {
			range = by_range(region, size, chunk);
			page = by_page(region, size, chunk);
		} else {
			page = by_page(region, size, chunk);
			range = by_range(region, size, chunk);
		}
		fault = by_fault(region, size, chunk);
		printf("bench: %s chunk=%zu bytes=%zu page_ns=%llu range_ns=%llu fault_ns=%llu\n",
		       argv[1], chunk, size, page, range, fault);
	}
	for (size_t at = 0; at < size; at += sizeof(long))
		if (*(long *)(region + at))
			die("not all was cleared");

	return 0;
}
