package snapshot

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
)

// Fingerprint is equal for two snapshots from which the planner gives the same answers.
func (s *Snapshot) Fingerprint() string {
	type node struct {
		NodeFacts
		Inventory string
	}
	var facts struct {
		Nodes []node
		Taken Taken
		Plans []string
	}
	for i := range s.Nodes {
		n := node{NodeFacts: s.facts(&s.Nodes[i])}
		if inventory := s.Inventories[n.Name]; inventory != nil {
			n.Inventory = string(inventory.UID) + "/" + inventory.ResourceVersion
		}
		facts.Nodes = append(facts.Nodes, n)
	}
	for i := range s.Plans {
		facts.Plans = append(facts.Plans, string(s.Plans[i].UID))
	}
	slices.Sort(facts.Plans)
	facts.Taken = s.Taken(nil)
	// Maps are encoded in order of their keys; strings and booleans always encode.
	text, _ := json.Marshal(facts)
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}
