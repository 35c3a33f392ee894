package fleet

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"unique"

	corev1 "k8s.io/api/core/v1"
	quantity "k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/component-helpers/resource"

	"github.com/rankwright/rankwright/internal/words"
)

// Amounts are amounts of what every node has, in order of the resources' names and without zeros: CPU in thousandths, memory,
// ephemeral storage and huge pages in bytes, and pods.
type Amounts []Amount

// Amount is an amount of a resource.
type Amount struct {
	Of    string
	Value int64
}

// AmountsOf returns what a list has of resources that every node has. Extended resources, whose names have a domain, are left out:
// devices are told apart by plans, and others are the scheduler's alone.
func AmountsOf[M ~map[N]quantity.Quantity, N ~string](list M) Amounts {
	made := make(Amounts, 0, len(list))
	for name, of := range list {
		value := of.Value()
		if name == N(corev1.ResourceCPU) {
			value = of.MilliValue()
		}
		if value != 0 && !strings.Contains(string(name), "/") {
			made = append(made, Amount{unique.Make(string(name)).Value(), value}) // one string for all pods
		}
	}
	slices.SortFunc(made, func(a, b Amount) int { return cmp.Compare(a.Of, b.Of) })
	return made
}

// RequestsOf returns what a pod asks of its node, as the scheduler counts it: with init containers, sidecars, overhead, and resources
// that are set for the pod as a whole or were resized. The place that it takes among the node's pods is not in it.
func RequestsOf(pod *corev1.Pod) Amounts {
	return AmountsOf(resource.PodRequests(pod, resource.PodResourcesOptions{UseStatusResources: true}))
}

// quantity returns the amount as the API writes it.
func (a *Amount) quantity() *quantity.Quantity {
	if a.Of == string(corev1.ResourceCPU) {
		return quantity.NewMilliQuantity(a.Value, quantity.DecimalSI)
	}
	return quantity.NewQuantity(a.Value, quantity.BinarySI)
}

// onePod is the place of a pod among those that a node takes.
var onePod = Amounts{{string(corev1.ResourcePods), 1}}

// of returns the amount of a resource.
func (a Amounts) of(name string) int64 {
	for i := range a {
		if a[i].Of == name {
			return a[i].Value
		}
	}
	return 0
}

// merge combines two lists by resource; a resource that a list does not have counts as 0 there.
func (a Amounts) merge(b Amounts, combine func(a, b int64) int64) Amounts {
	made := make(Amounts, 0, max(len(a), len(b)))
	add := func(of string, value int64) {
		if value != 0 {
			made = append(made, Amount{of, value})
		}
	}
	for len(a) > 0 || len(b) > 0 {
		switch {
		case len(b) == 0 || len(a) > 0 && a[0].Of < b[0].Of:
			add(a[0].Of, combine(a[0].Value, 0))
			a = a[1:]
		case len(a) == 0 || b[0].Of < a[0].Of:
			add(b[0].Of, combine(0, b[0].Value))
			b = b[1:]
		default:
			add(a[0].Of, combine(a[0].Value, b[0].Value))
			a, b = a[1:], b[1:]
		}
	}
	return made
}

func (a Amounts) plus(b Amounts) Amounts {
	return a.merge(b, func(a, b int64) int64 { return a + b })
}

func (a Amounts) minus(b Amounts) Amounts {
	return a.merge(b, func(a, b int64) int64 { return a - b })
}

// Most returns the larger amount of each resource.
func (a Amounts) Most(b Amounts) Amounts {
	return a.merge(b, func(a, b int64) int64 { return max(a, b) })
}

// times returns how many times an amount is in what is free.
func (a Amounts) times(free Amounts) int32 {
	most := int64(math.MaxInt32)
	for i := range a {
		most = min(most, max(0, free.of(a[i].Of))/a[i].Value)
	}
	return int32(most)
}

// share returns how much of an amount is free of the resource that is shortest: 1 where all of it is.
func (a Amounts) share(free Amounts) float64 {
	least := 1.0
	for i := range a {
		least = min(least, float64(free.of(a[i].Of))/float64(a[i].Value))
	}
	return least
}

// text names the amounts of the resources that another list has: "12 CPU and 200.0 GiB of memory".
func (a Amounts) text(of Amounts) string {
	parts := make([]string, len(of))
	for i := range of {
		value := max(0, a.of(of[i].Of))
		switch name := of[i].Of; name {
		case string(corev1.ResourceCPU):
			parts[i] = fmt.Sprintf("%g CPU", float64(value)/1000)
		case string(corev1.ResourcePods):
			parts[i] = words.Counted(value, "more pod")
		default:
			parts[i] = words.HumanBytes(value) + " of " + name
		}
	}
	return strings.Join(parts, ", ")
}
