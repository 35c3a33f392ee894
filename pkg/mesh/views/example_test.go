package views_test

import (
	"fmt"

	"github.com/rankwright/rankwright/pkg/mesh"
	"github.com/rankwright/rankwright/pkg/mesh/views"
)

// An engine's own degrees: SGLang counts its data ranks among the tensor ranks.
func ExamplePreset_Views() {
	sglang, err := views.LookupPreset("SGLang")
	if err != nil {
		fmt.Println(err)
		return
	}
	v, err := sglang.Views(8, map[string]int{"tp": 8, "dp": 4})
	if err != nil {
		fmt.Println(err)
		return
	}
	tp, _ := v.Groups("tp")
	dp, _ := v.Groups("dp")
	fmt.Println(v.Dense.Shape(), "tp", tp, "dp", dp)
	// Output: tp2 dp4 tp [[0 1] [2 3] [4 5] [6 7]] dp [[0 2 4 6] [1 3 5 7]]
}

// The layers of experts of a Megatron job: 8 ranks as tp2 dp4 are 4 ways of expert parallelism without tensor parallelism.
func ExampleFold() {
	dense, err := mesh.New("tp-cp-dp-pp", map[string]int{"tp": 2, "dp": 4})
	if err != nil {
		fmt.Println(err)
		return
	}
	experts, err := views.Fold(dense, 1, 4)
	if err != nil {
		fmt.Println(err)
		return
	}
	ep, _ := experts.Groups("ep")
	fmt.Println(experts.Shape(), ep)
	// Output: ep4 edp2 [[0 1 2 3] [4 5 6 7]]
}

// A pipeline whose second stage has half as many tensor ranks as the first.
func ExampleJoin() {
	wide, _ := mesh.New("tp", map[string]int{"tp": 4})
	narrow, _ := mesh.New("tp", map[string]int{"tp": 2})
	u, err := views.Join(wide, narrow)
	if err != nil {
		fmt.Println(err)
		return
	}
	groups, _ := u.Groups("tp")
	transfers, _ := u.Transfers(0)
	fmt.Println(groups, transfers)
	// Output: [[0 1 2 3] [4 5]] [{0 4} {1 4} {2 5} {3 5}]
}
