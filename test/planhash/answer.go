package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/fleet"
	"github.com/rankwright/rankwright/pkg/plan"
	"github.com/rankwright/rankwright/pkg/shape"
)

// planCase is one question: a cluster and a request, and how often a device is lost and the plan made anew.
type planCase struct {
	name  string
	make  func() ([]fleet.Node, shape.Request)
	again bool
}

// answer is what came of a case, as JSON.
type answer struct{ asked, structure, estimates, whole []byte }

// answer plans a case.
func (c *planCase) answer() (a answer) {
	nodes, request := c.make()
	a.asked = encode(request.Placement.Spec)
	spec, err := plan.Plan(fleet.NewCluster(nodes), request)
	if err == nil && c.again {
		request.Previous = spec
		loseFirst(nodes, spec)
		spec, err = plan.Plan(fleet.NewCluster(nodes), request)
	}
	if err != nil {
		a.whole = encode(wholeRefusal(err))
		a.structure = encode(refusal(err))
		return a
	}
	a.whole, a.estimates = encode(spec), encode(spec.Estimate)
	spec.Estimate = nil
	spec.Rejected = withoutProse(spec.Rejected)
	spec.Model.Assumptions = nil
	a.structure = encode(spec)
	return a
}

// wholeRefusal is a refusal with all that it says.
func wholeRefusal(err error) any {
	var no *plan.Unplaceable
	if errors.As(err, &no) {
		return *no
	}
	return err.Error()
}

// loseFirst makes the first device of a plan unhealthy.
func loseFirst(nodes []fleet.Node, spec *v1alpha1.ShardingPlanSpec) {
	row := &spec.Nodes[0]
	for i := range nodes {
		if nodes[i].Name != row.Node {
			continue
		}
		devices := nodes[i].Inventory.Status.Devices
		for j := range devices {
			if devices[j].ID == row.Devices[0] {
				devices[j].Health.State = v1alpha1.Unhealthy
			}
		}
	}
}

// refused is a refusal without its prose.
type refused struct {
	Reason    string
	Field     string                  `json:",omitempty"`
	Shortfall *v1alpha1.Shortfall     `json:",omitempty"`
	Rejected  []v1alpha1.RejectedPlan `json:",omitempty"`
}

func refusal(err error) refused {
	var no *plan.Unplaceable
	if errors.As(err, &no) {
		short := no.Shortfall
		for i := range short.Suggestions {
			short.Suggestions[i].Change = numbers(short.Suggestions[i].Change)
		}
		return refused{Reason: no.Reason, Shortfall: &short, Rejected: withoutProse(no.Rejected)}
	}
	var invalid *shape.InvalidRequest
	if errors.As(err, &invalid) {
		return refused{Reason: "Invalid", Field: invalid.Field}
	}
	return refused{Reason: fmt.Sprintf("%T", err)}
}

func withoutProse(rejected []v1alpha1.RejectedPlan) []v1alpha1.RejectedPlan {
	for i := range rejected {
		rejected[i].Message = ""
	}
	return rejected
}

var number = regexp.MustCompile(`[0-9.]+`)

// numbers are what a sentence counts.
func numbers(text string) string { return fmt.Sprint(number.FindAllString(text, -1)) }

func encode(v any) []byte {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return raw
}
