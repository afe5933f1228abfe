/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Runs at EL2 in front of an arm64 kernel and starts it at EL1, with HCR_EL2.TDZ
 * set: DCZID_EL0 says there that DC ZVA is prohibited, and would trap.
 *
 * It has the header of an image (Documentation/arch/arm64/booting.rst), so that
 * the boot loader takes it for the kernel, which follows SIZE bytes behind.
 * For one CPU: PSCI would start others at EL2.
 */
	.text
head:	b	start
	nop
	.quad	0			// text_offset
	.quad	IMAGE_SIZE		// of both together
	.quad	0xa			// flags: little endian, 4 KB pages, placed anywhere
	.quad	0, 0, 0
	.ascii	"ARM\x64"
	.long	0

start:	mov	x9, #(1 << 31)		// HCR_EL2.RW: EL1 is AArch64
	orr	x9, x9, #(1 << 28)	// HCR_EL2.TDZ
	msr	hcr_el2, x9
	mov	x9, #3			// EL1 may use the timer and its counter
	msr	cnthctl_el2, x9
	msr	cntvoff_el2, xzr
	msr	vttbr_el2, xzr
	mov	x9, #0x33ff		// RES1: floating point does not trap
	msr	cptr_el2, x9
	msr	hstr_el2, xzr
	mrs	x9, midr_el1
	msr	vpidr_el2, x9
	mrs	x9, mpidr_el1
	msr	vmpidr_el2, x9
	ldr	x9, =0x30d00800		// RES1: MMU and caches off
	msr	sctlr_el1, x9
	mov	x9, #0x3c5		// EL1h, interrupts masked
	msr	spsr_el2, x9
	adr	x9, head		// x0 to x3 are the kernel's
	add	x9, x9, #SIZE
	msr	elr_el2, x9
	isb
	eret
	.ltorg
