package synthetic

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// MaxNodes is the most nodes that a cluster may have.
const MaxNodes = 100_000

// whole is 100 % in hundredths of a percent.
const whole = 100_00

// Percent is a share in hundredths of a percent.
type Percent int

var percentage = regexp.MustCompile(`^(\d{1,3})(?:\.(\d{1,2}))?%$`)

// ParsePercent reads `50%`, `12.5%` or `0.25%`.
func ParsePercent(text string) (Percent, error) {
	if parts := percentage.FindStringSubmatch(text); parts != nil {
		if value, err := strconv.Atoi(parts[1] + (parts[2] + "00")[:2]); err == nil && value <= whole {
			return Percent(value), nil
		}
	}
	return 0, fmt.Errorf("%q is not a share: give a percentage from 0%% to 100%% with at most two decimals, such as 12.5%%", text)
}

func (p Percent) String() string {
	text := fmt.Sprintf("%d.%02d", p/100, p%100)
	return strings.TrimSuffix(strings.TrimRight(text, "0"), ".") + "%"
}

// Of returns the share of n, rounded to the nearest integer.
func (p Percent) Of(n int) int { return (n*int(p) + whole/2) / whole }

// Share is how many nodes have a shape: a number, a percentage, or what the other shares leave.
type Share struct {
	Shape *Shape
	// Nodes is the number of nodes where Kind is Fixed, Percent their share where it is Relative.
	Nodes   int
	Percent Percent
	Kind    ShareKind
}

// ShareKind is how a Share is given.
type ShareKind int

// The kinds of shares.
const (
	Rest ShareKind = iota
	Fixed
	Relative
)

// ParseShare reads `h100x8=60%`, `h100x8=12` or `h100x8`, which takes the rest.
func ParseShare(text string) (Share, error) {
	name, amount, given := strings.Cut(text, "=")
	shape, err := Lookup(name)
	if err != nil {
		return Share{}, err
	}
	switch {
	case !given:
		return Share{Shape: shape}, nil
	case strings.HasSuffix(amount, "%"):
		percent, err := ParsePercent(amount)
		return Share{Shape: shape, Percent: percent, Kind: Relative}, err
	}
	nodes, err := strconv.ParseUint(amount, 10, 31)
	if err != nil || nodes > MaxNodes {
		return Share{}, fmt.Errorf("%q is not a number of nodes: give one from 0 to %d, or a percentage such as 60%%", amount, MaxNodes)
	}
	return Share{Shape: shape, Nodes: int(nodes), Kind: Fixed}, nil
}

// Count is how many nodes have a shape.
type Count struct {
	Shape *Shape
	Nodes int
}

// Apportion divides so many nodes among shares, the largest remainders rounded up. Without a number of nodes all shares
// must be numbers.
func Apportion(nodes int, shares []Share) ([]Count, error) {
	a := apportionment{nodes: nodes}
	for i, s := range shares {
		if slices.ContainsFunc(shares[:i], func(other Share) bool { return other.Shape == s.Shape }) {
			return nil, fmt.Errorf("shape %s is given twice: give it once", s.Shape.Name)
		}
		a.add(s)
	}
	if err := a.check(); err != nil {
		return nil, err
	}
	counts := make([]Count, len(shares))
	for i, s := range shares {
		counts[i] = Count{Shape: s.Shape, Nodes: s.Nodes}
	}
	relative := a.relative(shares, counts)
	a.divideRest(a.nodes-a.fixed-relative, shares, counts)
	return counts, nil
}

// apportionment is the sums of a list of shares.
type apportionment struct {
	nodes, fixed int
	percent      Percent
	rests        int
}

func (a *apportionment) add(s Share) {
	switch s.Kind {
	case Fixed:
		a.fixed += s.Nodes
	case Relative:
		a.percent += s.Percent
	default:
		a.rests++
	}
}

// check fills in the number of nodes where the shares say it, and refuses shares that contradict it.
func (a *apportionment) check() error {
	if a.nodes == 0 && (a.percent > 0 || a.rests > 0) {
		return errors.New("a share of an unknown number of nodes: give the number of nodes, or a number for each shape")
	}
	if a.nodes == 0 {
		a.nodes = a.fixed
	}
	taken := a.fixed*whole + a.nodes*int(a.percent)
	switch {
	case a.nodes < 1 || a.nodes > MaxNodes:
		return fmt.Errorf("%d nodes: give from 1 to %d", a.nodes, MaxNodes)
	case taken > a.nodes*whole:
		return fmt.Errorf("the shapes add up to more than %d nodes: lower one", a.nodes)
	case a.rests == 0 && taken < a.nodes*whole:
		return fmt.Errorf("the shapes add up to less than %d nodes: raise one, or give one without a share for the rest", a.nodes)
	}
	return nil
}

// relative writes the percentages' nodes into counts and returns their sum.
func (a *apportionment) relative(shares []Share, counts []Count) int {
	sum := a.percent.Of(a.nodes)
	if a.rests == 0 {
		sum = a.nodes - a.fixed
	}
	left := sum
	var order []int
	remainder := func(i int) int { return a.nodes * int(shares[i].Percent) % whole }
	for i, s := range shares {
		if s.Kind == Relative {
			counts[i].Nodes = a.nodes * int(s.Percent) / whole
			left -= counts[i].Nodes
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(x, y int) int { return cmp.Compare(remainder(y), remainder(x)) })
	for _, i := range order[:min(left, len(order))] {
		counts[i].Nodes++
	}
	return sum
}

// divideRest writes the nodes of the shapes without a share into counts, the first ones' rounded up.
func (a *apportionment) divideRest(rest int, shares []Share, counts []Count) {
	left := a.rests
	for i, s := range shares {
		if s.Kind == Rest {
			counts[i].Nodes = (rest + left - 1) / left
			rest -= counts[i].Nodes
			left--
		}
	}
}
