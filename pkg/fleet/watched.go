package fleet

import (
	"maps"

	corev1 "k8s.io/api/core/v1"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// watched are the hosts of a cluster as they were seen last. The zero value has seen nothing.
type watched struct {
	hosts map[string]*Host
	// shared says that somebody has the map of hosts: it is copied before it is written.
	shared bool
	// renewed are the nodes whose hosts are others since somebody took them out of here.
	renewed map[string]bool
	ready   Readiness

	from        map[string]source
	known       map[*corev1.Node]bool
	inventories map[*v1alpha1.AcceleratorInventory]bool
	silent      map[string]bool
}

// source is the objects that a host was made from.
type source struct {
	node      *corev1.Node
	inventory *v1alpha1.AcceleratorInventory
}

// share returns the hosts, which stay as they are. A Host is replaced and never written.
func (w *watched) share() map[string]*Host {
	w.shared = true
	return w.hosts
}

// forget forgets the objects, and keeps the hosts that were made from them.
func (w *watched) forget() {
	w.from, w.known, w.inventories = nil, nil, nil
}

// see brings the hosts to the given state. An object that is the same one as before is not looked into, which would cost more than all else.
func (w *watched) see(now *Informed) {
	touched := map[string]bool{}
	if w.from == nil {
		w.from, w.known, w.inventories = make(map[string]source, len(now.Nodes)), map[*corev1.Node]bool{}, map[*v1alpha1.AcceleratorInventory]bool{}
		for name := range w.hosts {
			touched[name] = true
		}
	}
	for _, node := range now.Nodes {
		if !w.known[node] {
			is := w.from[node.Name]
			delete(w.known, is.node)
			is.node = node
			w.from[node.Name], w.known[node], touched[node.Name] = is, true, true
		}
	}
	for _, inventory := range now.Inventories {
		if !w.inventories[inventory] {
			is := w.from[inventory.Name]
			delete(w.inventories, is.inventory)
			is.inventory = inventory
			w.from[inventory.Name], w.inventories[inventory], touched[inventory.Name] = is, true, true
		}
	}
	if len(w.known) > len(now.Nodes) || len(w.inventories) > len(now.Inventories) {
		w.drop(now, touched)
	}
	if !maps.Equal(w.silent, now.Silent) {
		for _, silent := range []map[string]bool{w.silent, now.Silent} {
			for name := range silent {
				touched[name] = true
			}
		}
		w.silent = maps.Clone(now.Silent)
	}
	w.renew(touched)
}

// drop takes out the objects that are not there any more.
func (w *watched) drop(now *Informed, touched map[string]bool) {
	for _, node := range now.Nodes {
		w.known[node] = false
	}
	for _, inventory := range now.Inventories {
		w.inventories[inventory] = false
	}
	for name, is := range w.from {
		left := is
		if w.known[is.node] {
			left.node = nil
			delete(w.known, is.node)
		}
		if w.inventories[is.inventory] {
			left.inventory = nil
			delete(w.inventories, is.inventory)
		}
		if left != is {
			w.from[name], touched[name] = left, true
		}
	}
	for _, node := range now.Nodes {
		w.known[node] = true
	}
	for _, inventory := range now.Inventories {
		w.inventories[inventory] = true
	}
}

// renew makes the hosts of some nodes anew where they are others.
func (w *watched) renew(touched map[string]bool) {
	for name := range touched {
		is, old := w.from[name], w.hosts[name]
		var next *Host
		if is.node != nil || is.inventory != nil {
			next = old.next(is.node, is.inventory, w.silent[name])
		} else {
			delete(w.from, name)
		}
		if next != old {
			w.put(name, old, next)
		}
	}
}

// put replaces a host; nil is none.
func (w *watched) put(name string, old, next *Host) {
	if w.shared || w.hosts == nil {
		w.hosts, w.shared = maps.Clone(w.hosts), false
	}
	if w.hosts == nil {
		w.hosts = map[string]*Host{}
	}
	if w.renewed == nil {
		w.renewed = map[string]bool{}
	}
	w.renewed[name] = true
	w.count(old, -1)
	w.count(next, 1)
	if next == nil {
		delete(w.hosts, name)
	} else {
		w.hosts[name] = next
	}
}

func (w *watched) count(h *Host, by int) {
	if h == nil || !h.plannable() {
		return
	}
	w.ready.Nodes += by
	if h.NotReady {
		w.ready.Not += by
	}
}
