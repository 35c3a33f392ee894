// Package e2e tests Rankwright as its users have it: installed by Helm on a real cluster of three nodes with kubelets and
// containers, from images made as the Dockerfile says. `make e2e` runs it.
package e2e
