package backend

const (
	// leastStepMiB is the smallest step of memory use on a large scale: 1 GiB.
	leastStepMiB = 1024
	// finestStepMiB is the first step above none in use: an idle driver keeps some MiB on most GPUs, some hundred on others.
	finestStepMiB = 64
)

// UsedInSteps rounds memory use up, so that an inventory does not change with every allocation and free memory is never
// overstated. Steps are 5 % of the total and at least 1 GiB. Below the first of them use is rounded to the next power of two from
// 64 MiB on: what the driver of an idle device keeps is not taken for 5 % of it. All numbers are in MiB; no more than the
// total is in use.
func UsedInSteps(used, total int64) int64 {
	used = min(used, total)
	if used <= 0 {
		return 0
	}
	step := max(leastStepMiB, total/20)
	if used > step {
		return min((used+step-1)/step*step, total)
	}
	fine := int64(finestStepMiB)
	for fine < used {
		fine *= 2
	}
	return min(fine, step, total)
}
