package why

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/words"
	"github.com/rankwright/rankwright/pkg/binding"
	"github.com/rankwright/rankwright/pkg/engine"
	"github.com/rankwright/rankwright/pkg/holding"
	"github.com/rankwright/rankwright/pkg/shape"
)

// standing is a placement with what is said of it.
type standing struct {
	*v1alpha1.ModelPlacement

	placed, ready metav1.Condition
	// allowed are the devices that it may have, kept those of them that an obstacle keeps from it. Both are found once.
	allowed []*holding.Device
	kept    map[*obstacle][]*holding.Device
}

// OfPlacement says why a placement has no plan, why its pods do not run, or why it is where it is.
func OfPlacement(c *Case, p *v1alpha1.ModelPlacement) Answer {
	s := &standing{ModelPlacement: p}
	for kind, into := range map[string]*metav1.Condition{v1alpha1.ConditionPlaced: &s.placed, v1alpha1.ConditionReady: &s.ready} {
		if said := meta.FindStatusCondition(p.Status.Conditions, kind); said != nil {
			*into = *said
		}
	}
	return first(c, "mp/"+p.Name, s, placementCauses())
}

var operatorPods = commandf("get pods -A -l app.kubernetes.io/name=rankwright,app.kubernetes.io/component=operator")

// placementCauses are in the order in which one hides the next.
func placementCauses() []cause[*standing] {
	return slices.Concat(
		[]cause[*standing]{
			{
				reason: "NotLookedAt", is: func(_ *Case, s *standing) bool { return s.placed.ObservedGeneration != s.Generation },
				cause: says[*standing]("The operator has not answered the placement as it is now"),
				evidence: func(_ *Case, s *standing) []string {
					return []string{fmt.Sprintf("condition Placed is of generation %d, and the placement of generation %d", s.placed.ObservedGeneration, s.Generation)}
				},
				commands: func(*Case, *standing) []string { return []string{operatorPods} },
			},
			refused("Suspended", "The placement is suspended: it asks for no devices", func(s *standing) string { return s.patch(`{"spec":{"suspend":false}}`) }, v1alpha1.ReasonSuspended),
			refused("ScaledToZero", "No copy is asked for", func(s *standing) string { return commandf("scale mp %s -n %s --replicas=1", s.Name, s.Namespace) }, v1alpha1.ReasonScaledToZero),
			refused("ReservationExpired", "No pod came for its devices in time, so that they were given back", func(s *standing) string {
				return s.patch(`{"spec":{"replanRequest":"again"}}`)
			}, v1alpha1.ReasonExpired),
			quotaCause(),
			refused("PriorityClassNotAllowed", "The namespace may not use the priority class", (*standing).edit, "PriorityClassNotAllowed"),
			refused("InvalidSpec", "The placement cannot be meant as it is", (*standing).edit, v1alpha1.ReasonInvalidSpec, v1alpha1.ReasonInvalidModel, v1alpha1.ReasonModelNotFound),
			refused("ModelMissing", "The file of the model is not there", func(s *standing) string { return commandf("get configmaps -n %s", s.Namespace) }, v1alpha1.ReasonConfigMapNotFound, v1alpha1.ReasonKeyNotFound),
			refused("WrongEngine", "The engine runs on none of the devices that the placement allows, or not in the format", func(s *standing) string {
				return slices.Concat(s.patches(), []string{s.edit() + " # spec.engine, or spec.devices"})[0]
			}, shape.ReasonUnsupported),
			refused("NoDevices", "No node has an accelerator that an agent found", func(*standing) string {
				return commandf("get pods -A -l app.kubernetes.io/name=rankwright,app.kubernetes.io/component=node-agent -o wide")
			}, shape.ReasonNoDevices),
			refused("NoMatch", "No device is as spec.devices asks", func(s *standing) string { return s.edit() + " # spec.devices" }, shape.ReasonNoMatch),
			{
				reason: "NotSeen", is: func(c *Case, s *standing) bool { return len(c.State.Unseen) > 0 && c.fitsNow(s) },
				cause: says[*standing]("The operator has no devices for it, for a reason that you may not see: by what you may see it fits"),
				evidence: func(_ *Case, s *standing) []string {
					return []string{s.said()}
				},
				commands: func(_ *Case, s *standing) []string {
					return []string{commandf("describe mp %s -n %s", s.Name, s.Namespace)}
				},
			},
			{
				reason: "FitsNow", is: func(c *Case, s *standing) bool { return len(c.State.Unseen) == 0 && c.fitsNow(s) },
				cause: says[*standing]("It fits by now, and the operator has not looked again since it did not"),
				evidence: func(_ *Case, s *standing) []string {
					return lines("the planner finds a plan in the cluster as it is now", "said before: "+s.said())
				},
				commands: func(_ *Case, s *standing) []string {
					return []string{fmt.Sprintf("kubectl rankwright replan mp/%s -n %s", s.Name, s.Namespace), operatorPods}
				},
			},
		},
		obstacleCauses(),
		[]cause[*standing]{
			{
				reason: "WrongEngine", is: func(c *Case, s *standing) bool { return c.otherEngine(s) != "" },
				cause: func(c *Case, s *standing) string {
					return fmt.Sprintf("%s runs on none of the devices that are free, and %s does", s.Spec.Engine, c.otherEngine(s))
				},
				evidence: func(_ *Case, s *standing) []string { return append([]string{s.said()}, s.changes()...) },
				commands: func(c *Case, s *standing) []string {
					return []string{s.patch(fmt.Sprintf(`{"spec":{"engine":%q}}`, c.otherEngine(s)))}
				},
			},
			{
				reason: "NoLinkDomain", is: lacksLinks,
				cause: func(_ *Case, s *standing) string {
					if tensor := s.tensor(); tensor > 0 {
						return fmt.Sprintf("No link domain and no node has the %d free devices that share each layer", tensor)
					}
					return "No link domain and no node has enough free devices that reach each other"
				},
				evidence: func(c *Case, s *standing) []string {
					return slices.Concat([]string{linkedText(c, s), s.said()}, s.changes())
				},
				commands: func(_ *Case, s *standing) []string { return append(s.patches(), s.edit()+" # spec.parallelism") },
			},
			{
				reason: "TooLarge", is: func(_ *Case, s *standing) bool { return slices.Contains(short, s.placed.Reason) },
				cause: func(_ *Case, s *standing) string { return tooLarge[s.placed.Reason] + s.numbers() },
				evidence: func(_ *Case, s *standing) []string {
					return append([]string{s.said()}, s.changes()...)
				},
				commands: func(_ *Case, s *standing) []string { return append(s.patches(), s.edit()) },
			},
			{
				reason: "DevicesLost", is: func(_ *Case, s *standing) bool {
					return s.placed.Reason == v1alpha1.ReasonDevicesLost && len(s.Status.Losses) > 0
				},
				cause: func(_ *Case, s *standing) string {
					return fmt.Sprintf("The plan counts on what cannot serve: %s, on node %s", s.Status.Losses[0].Reason, s.Status.Losses[0].Node)
				},
				evidence: func(_ *Case, s *standing) []string {
					return append(lossTexts(s.Status.Losses), s.said())
				},
				commands: func(_ *Case, s *standing) []string {
					loss := &s.Status.Losses[0]
					about := "node/" + loss.Node
					if loss.Device != "" {
						about = "device/" + loss.Node + "/" + string(loss.Device)
					}
					return []string{"kubectl rankwright why " + about, fmt.Sprintf("kubectl rankwright replan mp/%s -n %s", s.Name, s.Namespace)}
				},
			},
			{
				reason: "NotPlanned", is: func(_ *Case, s *standing) bool { return s.placed.Status != metav1.ConditionTrue },
				cause: func(_ *Case, s *standing) string {
					return "No plan is in force: " + cmp.Or(s.placed.Reason, "nothing is said")
				},
				evidence: func(_ *Case, s *standing) []string { return lines(s.said()) },
				commands: func(_ *Case, s *standing) []string {
					return []string{commandf("describe mp %s -n %s", s.Name, s.Namespace)}
				},
			},
			{
				is:  func(c *Case, s *standing) bool { return c.waiting(s) != nil },
				via: func(c *Case, s *standing) Answer { return OfPod(c, c.waiting(s)) },
				evidence: func(c *Case, s *standing) []string {
					return lines("asked of pod "+c.waiting(s).Name, sentence(s.ready.Message))
				},
			},
			{
				reason: "PodsRefused", is: func(c *Case, s *standing) bool {
					return s.ready.Status != metav1.ConditionTrue && len(c.refusals(s.Namespace)) > 0
				},
				cause: says[*standing]("Its pods are not made: what makes them is refused"),
				evidence: func(c *Case, s *standing) []string {
					return append(eventTexts(c.refusals(s.Namespace)), sentence(s.ready.Message))
				},
				commands: func(_ *Case, s *standing) []string { return []string{commandf("describe quota -n %s", s.Namespace)} },
			},
			{
				reason: "NoPods", is: func(_ *Case, s *standing) bool { return s.ready.Status != metav1.ConditionTrue },
				cause: says[*standing]("The devices are kept, and pods that would run there are missing"),
				evidence: func(_ *Case, s *standing) []string {
					return lines(sentence(s.ready.Message), "pods find the placement by their label "+v1alpha1.LabelPlacement+"="+s.Name)
				},
				commands: func(_ *Case, s *standing) []string {
					return []string{
						commandf("get pods -n %s -l %s=%s", s.Namespace, v1alpha1.LabelPlacement, s.Name),
						fmt.Sprintf("kubectl rankwright export mp/%s -n %s", s.Name, s.Namespace),
					}
				},
			},
			{
				reason: "Running", is: func(*Case, *standing) bool { return true },
				cause: func(_ *Case, s *standing) string {
					return "It runs as planned: " + s.Status.Strategy + " by plan " + s.Status.Plan
				},
				evidence: func(c *Case, s *standing) []string { return append(c.seats(s), s.said()) },
				commands: func(_ *Case, s *standing) []string {
					return []string{
						fmt.Sprintf("kubectl rankwright explain mp/%s -n %s", s.Name, s.Namespace),
						fmt.Sprintf("kubectl rankwright diff mp/%s -n %s", s.Name, s.Namespace),
					}
				},
			},
		},
	)
}

// tooLarge are what placements for which there is too little lack.
var tooLarge = map[string]string{
	shape.ReasonTooLarge:      "The model is too large",
	shape.ReasonTooFewDevices: "There are too few devices for all copies",
	shape.ReasonNoneFree:      "No device is free",
	shape.ReasonLimit:         "It fits, and no plan is as fast as the workload asks",
}

// numbers end a sentence with what is needed and what is free.
func (s *standing) numbers() string {
	short := s.Status.Shortfall
	if short == nil || short.NeededMiB == 0 || s.placed.Reason == shape.ReasonLimit {
		return ""
	}
	return fmt.Sprintf(": one copy needs %s, and %s with %s are free", words.HumanMiB(short.NeededMiB), words.Counted(int(short.FreeDevices), "device"), words.HumanMiB(short.FreeMiB))
}

// said is what the operator says of a placement, without the suggestion at its end.
func (s *standing) said() string {
	text := s.placed.Message
	if len(s.changes()) > 0 {
		text, _, _ = strings.Cut(text, " It would fit with ")
	}
	return sentence(text)
}

// refused is a row about what the operator says of a placement that is to change.
func refused(reason, text string, command func(*standing) string, placed ...string) cause[*standing] {
	return cause[*standing]{
		reason: reason, is: func(_ *Case, s *standing) bool { return slices.Contains(placed, s.placed.Reason) },
		cause:    says[*standing](text),
		evidence: func(_ *Case, s *standing) []string { return append(lines(s.said()), s.changes()...) },
		commands: func(_ *Case, s *standing) []string { return []string{command(s)} },
	}
}

// fitsNow says whether a placement that was refused for what was free would get a plan in the cluster as it is.
func (c *Case) fitsNow(s *standing) bool {
	return slices.Contains(short, s.placed.Reason) && c.Fits != nil && c.Fits(s.ModelPlacement, c.without())
}

// otherEngine is the first engine of the same use with which a placement would fit; empty where none is found.
func (c *Case) otherEngine(s *standing) v1alpha1.Engine {
	if c.Fits == nil || !slices.Contains(short, s.placed.Reason) {
		return ""
	}
	for row := range engine.Rows() {
		if row.Name == s.Spec.Engine || !slices.Contains(row.Uses, engine.UseOf(&s.Spec.Workload)) {
			continue
		}
		other := s.DeepCopy()
		if other.Spec.Engine = row.Name; c.Fits(other, c.without()) {
			return row.Name
		}
	}
	return ""
}

// tensor is how many devices are asked to share each layer; 0 where the planner chooses.
func (s *standing) tensor() int32 {
	if s.Spec.Parallelism == nil || s.Spec.Parallelism.Tensor == nil {
		return 0
	}
	return *s.Spec.Parallelism.Tensor
}

func (s *standing) edit() string { return commandf("edit mp %s -n %s", s.Name, s.Namespace) }

func (s *standing) patch(change string) string {
	return commandf("patch mp %s -n %s --type merge -p %s", s.Name, s.Namespace, Quoted(change))
}

// waiting is the first pod of a placement that does not run; nil where none is known.
func (c *Case) waiting(s *standing) *corev1.Pod {
	pods := slices.DeleteFunc(c.podsOf(s.ModelPlacement), running)
	if s.ready.Status == metav1.ConditionTrue || len(pods) == 0 {
		return nil
	}
	return slices.MinFunc(pods, func(a, b *corev1.Pod) int {
		return cmp.Or(cmp.Compare(index(a), index(b)), cmp.Compare(a.Name, b.Name))
	})
}

// index is the place of a pod among those of its placement; pods without one come last.
func index(p *corev1.Pod) int {
	if n, err := strconv.Atoi(p.Labels[binding.LabelIndex]); err == nil {
		return n
	}
	return int(^uint(0) >> 1)
}

// refusals are warnings of a namespace's controllers that they could not make a pod.
func (c *Case) refusals(namespace string) []*corev1.Event {
	return c.warnings(func(e *corev1.Event) bool { return e.Namespace == namespace && e.Reason == "FailedCreate" })
}

func eventTexts(events []*corev1.Event) []string {
	var texts []string
	for _, e := range events {
		if text := fmt.Sprintf("%s %s: %s", e.InvolvedObject.Kind, e.InvolvedObject.Name, sentence(e.Message)); !slices.Contains(texts, text) {
			texts = append(texts, text)
		}
	}
	return texts
}

func lossTexts(losses []v1alpha1.Loss) []string {
	var texts []string
	for i := range losses {
		l := &losses[i]
		text := fmt.Sprintf("%s: node %s", l.Reason, l.Node)
		if l.Device != "" {
			text += ", device " + string(l.Device)
		}
		if l.Message != "" {
			text += ", " + sentence(l.Message)
		}
		texts = append(texts, text)
	}
	return texts
}

// seats are the devices of a placement by node.
func (c *Case) seats(s *standing) []string {
	var texts []string
	for _, p := range c.fleetOf().Placements {
		if p.Namespace == s.Namespace && p.Name == s.Name {
			for _, node := range p.Nodes {
				texts = append(texts, fmt.Sprintf("node %s: %s", node, c.idsOf(node, p)))
			}
		}
	}
	return texts
}

func (c *Case) idsOf(node string, p holding.Placement) string {
	var ids []v1alpha1.DeviceID
	for i := range c.fleetOf().Devices {
		d := &c.held.Devices[i]
		if d.Node == node && slices.ContainsFunc(d.Seats, func(s holding.Seat) bool { return s.Namespace == p.Namespace && s.Placement == p.Name }) {
			ids = append(ids, d.ID)
		}
	}
	return binding.DevicesText(ids)
}
