/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the kernel's page clearing expects of its surroundings, for user space.
 * Each header that it includes has a file here that leads to this one.
 *
 * The code under test is the kernel's own. Here is only which of its
 * alternatives is taken, which the kernel decides by patching itself: VARIANT 0
 * is what it is compiled with, 1 and 2 the replacements, in their order.
 */
#ifndef STAND_IN_H
#define STAND_IN_H

#ifdef __ASSEMBLER__

#define SYM_FUNC_START(name)		.globl name; .type name, @function; name:
#define SYM_TYPED_FUNC_START(name)	SYM_FUNC_START(name)
#define SYM_FUNC_END(name)		.size name, . - name
#define SYM_FUNC_ALIAS(alias, name)	.globl alias; .set alias, name
#define RET				ret
#define EXPORT_SYMBOL(name)
#define EXPORT_SYMBOL_GPL(name)
#define ANNOTATE_NOENDBR
#define _ASM_EXTABLE_UA(from, to)

#else

#include <stddef.h>
#include <stdint.h>

typedef uint64_t u64;

#define PAGE_SHIFT	12
#define PAGE_SIZE	(1UL << PAGE_SHIFT)

#undef __always_inline
#define __always_inline	inline __attribute__((always_inline))
#define asm_inline	asm
#define KCFI_REFERENCE(name)
#define VIRTUAL_BUG_ON(condition)	do { } while (0)
#define PAGE_OFFSET		0UL
#define __START_KERNEL_map	0UL
#define KERNEL_IMAGE_SIZE	0UL

static inline void kmsan_unpoison_memory(const void *address, size_t size) { }

/* Has to be built with -mno-red-zone: the calls push an address. */
register unsigned long current_stack_pointer asm("rsp");
#define ASM_CALL_CONSTRAINT	"+r" (current_stack_pointer)

#define PICK_0(first, second, third)	first
#define PICK_1(first, second, third)	second
#define PICK_2(first, second, third)	third
#define PICK__(number)			PICK_##number
#define PICK_(number)			PICK__(number)
#define ALTERNATIVE_2(old, new1, feature1, new2, feature2)		\
	PICK_(VARIANT)(old, new1, new2)

#define alternative_io(old, new, feature, output, input...)		\
	asm volatile (old : output : "i" (0), ## input)
/* 6.12 has the clobbers at the end of the input. */
#define alternative_call_2(old, new1, feature1, new2, feature2, output, input...) \
	asm volatile ("call %c[function]"				\
		      : output						\
		      : [function] "i" (PICK_(VARIANT)(old, new1, new2)), \
			input)

#endif
#endif
