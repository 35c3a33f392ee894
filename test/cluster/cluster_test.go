package cluster_test

import (
	"os"
	"testing"

	"github.com/rankwright/rankwright/test/cluster"
)

func TestStart(t *testing.T) {
	c, err := cluster.Start(t.Context(), cluster.Options{Log: os.Stderr})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Stop()
}
