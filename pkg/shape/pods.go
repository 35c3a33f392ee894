package shape

// mostStages returns the largest number of stages, up to a last one, with which pods can start a copy on a flavor. Launchers give a pod
// the ranks that follow one another. Where an engine numbers ranks through the stages before it comes to the next data rank, nodes
// that hold several data ranks of one stage have no such ranks, so that a pipeline of data ranks that share islands ends at one node.
// Pods of one data rank each could start it, but the experts' exchange would leave them. Where both degrees are asked for, somebody
// knows how to start it.
func (t *Problem) mostStages(d *Degrees, l *Flavor, last int) int {
	if !t.Engine.Ranks.StagesBeforeData() || d.Inside <= 1 || d.Data <= 1 || t.Asked.Data > 0 && t.Asked.Stages > 0 {
		return last
	}
	if own := t.Spec.Launch.PodDevices(); own > 0 && d.Tensor*d.Context%own == 0 {
		return last
	}
	host := t.hostOf(l)
	if host <= d.Tensor*d.Context {
		return last
	}
	return min(last, max(1, host/(d.Tensor*d.Context*d.Data)))
}

// uneven says whether tensor groups on islands over several nodes would have more ranks on one node than on another. Launchers start pods with equal
// numbers of ranks, and tensor ranks of a node share a pod. Where the degree or the size of pods is asked for, somebody knows how to start it.
func (t *Problem) uneven(tensor int, l *Flavor) bool {
	if own := t.Spec.Launch.PodDevices(); tensor == 1 || t.Asked.Tensor > 0 || own > 0 && tensor%own == 0 {
		return false
	}
	host := t.hostOf(l)
	return host > 0 && l.Limit > host && tensor%host != 0 && host%tensor != 0
}

// hostOf returns how many devices of an island of a flavor are on one node, at most.
func (t *Problem) hostOf(l *Flavor) int {
	if l.Pool == nil {
		return l.Limit
	}
	if l.host > 0 {
		return l.host
	}
	for _, kind := range l.Pool.Kinds {
		devices := l.Pool.Parts[kind[0]].Devices
		l.host = max(l.host, min(len(devices), int(t.Cluster.NodeOf(devices[0]).Widest)))
	}
	return l.host
}
