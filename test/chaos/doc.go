// Package chaos breaks things around the operator, one after the other and at random, and looks from outside whether it keeps its promises: the
// operator's own program with its rights, a real etcd and API server, a proxy between operator and API server that answers as it should
// not, and nodes, schedulers, kubelets and workloads that are played. After each fault everything must come to rest, and then: no device
// is in two active plans (at no moment), no pod runs on a device of another's plan, no pod was ended that nothing asked to move, nothing was
// left behind and nothing got lost.
package chaos
