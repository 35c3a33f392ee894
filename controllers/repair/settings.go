package repair

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/yaml"
)

// Scope is what a repair takes out of use.
type Scope string

// The scopes: the device alone, or all devices of its node, such as by a reboot.
const (
	ScopeDevice Scope = "Device"
	ScopeNode   Scope = "Node"
)

// TaintEffect is what a taint of a device does.
type TaintEffect string

// The effects. Pods are evicted only after the ranks of placements have left.
const (
	NoSchedule TaintEffect = "NoSchedule"
	NoExecute  TaintEffect = "NoExecute"
)

// Settings are what an administrator says of repairs. Durations are in seconds.
type Settings struct {
	// TaintEffect is the effect of the taints of devices that other DRA drivers publish; empty means NoSchedule. Those of our own have
	// the effect of the agents' configuration.
	TaintEffect TaintEffect `json:"taintEffect,omitempty"`
	// Template is the manifest of the object that is made for a repair, in the language of text/template with the fields of Subject;
	// empty means that devices are cordoned and not repaired.
	Template string `json:"template,omitempty"`
	// Scope is what the repair takes out of use; empty means Device.
	Scope Scope `json:"scope,omitempty"`
	// Namespace has the service account, and the object where its kind has namespaces.
	Namespace string `json:"namespace,omitempty"`
	// ServiceAccountName is the account that reads, creates and deletes the object.
	ServiceAccountName string `json:"serviceAccountName,omitempty"`
	// MaxConcurrent is how many repairs may be under way in the cluster, checks included; 0 means 1.
	MaxConcurrent int `json:"maxConcurrent,omitempty"`
	// MaxAttempts is how often a device is repaired before a person is needed; 0 means 3.
	MaxAttempts int32 `json:"maxAttempts,omitempty"`
	// DoneConditions and FailedConditions are conditions in the object's status of which one that is True says that it ended; empty means
	// Complete and Succeeded, and Failed.
	DoneConditions   []string `json:"doneConditions,omitempty"`
	FailedConditions []string `json:"failedConditions,omitempty"`
	// AfterSeconds is how long a fault lasts before it is repaired: many go by themselves. 0 means 120.
	AfterSeconds int64 `json:"afterSeconds,omitempty"`
	// TimeoutSeconds is how long an object may take before it is deleted; 0 means 3600.
	TimeoutSeconds int64 `json:"timeoutSeconds,omitempty"`
	// CheckSeconds is how long a device is to look well before it takes work; 0 means 120.
	CheckSeconds int64 `json:"checkSeconds,omitempty"`
	// CheckTimeoutSeconds is how long after the end of its repair a device may take to look well for CheckSeconds; 0 means 1800, in
	// which a node reboots.
	CheckTimeoutSeconds int64 `json:"checkTimeoutSeconds,omitempty"`

	template *manifest
}

// ReadSettings reads YAML from a file; an empty name means that nothing is repaired, and nil.
func ReadSettings(path string) (*Settings, error) {
	if path == "" {
		return nil, nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("settings of repairs: %w", err)
	}
	return ParseSettings(text)
}

// ParseSettings reads YAML, checks it and fills in what it leaves out. Errors name all fields that are wrong.
func ParseSettings(text []byte) (*Settings, error) {
	s := &Settings{}
	if err := yaml.UnmarshalStrict(text, s); err != nil {
		return nil, fmt.Errorf("settings of repairs: %w", err)
	}
	s.TaintEffect, s.Scope = cmp.Or(s.TaintEffect, NoSchedule), cmp.Or(s.Scope, ScopeDevice)
	s.MaxConcurrent, s.MaxAttempts = cmp.Or(s.MaxConcurrent, 1), cmp.Or(s.MaxAttempts, 3)
	s.AfterSeconds, s.TimeoutSeconds = cmp.Or(s.AfterSeconds, 120), cmp.Or(s.TimeoutSeconds, 3600)
	s.CheckSeconds, s.CheckTimeoutSeconds = cmp.Or(s.CheckSeconds, 120), cmp.Or(s.CheckTimeoutSeconds, 1800)
	if len(s.DoneConditions) == 0 {
		s.DoneConditions = []string{"Complete", "Succeeded"}
	}
	if len(s.FailedConditions) == 0 {
		s.FailedConditions = []string{"Failed"}
	}
	if err := errors.Join(s.check()...); err != nil {
		return nil, fmt.Errorf("settings of repairs: %w", err)
	}
	return s, nil
}

// check returns everything that is wrong.
func (s *Settings) check() []error {
	var wrong []error
	refuse := func(format string, args ...any) { wrong = append(wrong, fmt.Errorf(format, args...)) }
	if !slices.Contains([]TaintEffect{NoSchedule, NoExecute}, s.TaintEffect) {
		refuse("taintEffect is %q: use NoSchedule or NoExecute", s.TaintEffect)
	}
	if !slices.Contains([]Scope{ScopeDevice, ScopeNode}, s.Scope) {
		refuse("scope is %q: use Device or Node", s.Scope)
	}
	for name, value := range map[string]int64{
		"maxConcurrent": int64(s.MaxConcurrent), "maxAttempts": int64(s.MaxAttempts), "afterSeconds": s.AfterSeconds,
		"timeoutSeconds": s.TimeoutSeconds, "checkSeconds": s.CheckSeconds, "checkTimeoutSeconds": s.CheckTimeoutSeconds,
	} {
		if value < 1 {
			refuse("%s is %d: use 1 or more", name, value)
		}
	}
	if s.CheckTimeoutSeconds < s.CheckSeconds {
		refuse("checkTimeoutSeconds is %d, less than checkSeconds, %d: no check could end well", s.CheckTimeoutSeconds, s.CheckSeconds)
	}
	if s.Template == "" {
		return wrong
	}
	for name, value := range map[string]string{"namespace": s.Namespace, "serviceAccountName": s.ServiceAccountName} {
		if len(validation.IsDNS1123Label(value)) > 0 {
			refuse("%s is %q: with a template, name the one that repairs have of their own", name, value)
		}
	}
	var err error
	if s.template, err = parseManifest(s.Template); err != nil {
		refuse("template: %w", err)
	}
	return wrong
}

// Repairs says whether devices are repaired, and not only cordoned.
func (s *Settings) Repairs() bool { return s.template != nil }

func seconds(n int64) time.Duration { return time.Duration(n) * time.Second }
