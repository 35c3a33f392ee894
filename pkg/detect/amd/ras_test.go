package amd

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rankwright/rankwright/pkg/detect/backend"
	"github.com/rankwright/rankwright/pkg/detect/host"
)

func TestAMDRAS(t *testing.T) {
	recording := host.NewRecording()
	for name, text := range map[string]string{
		"umc_err_count": "ue: 0\nce: 7\n", "gfx_err_count": "ue: 3\nce: 0\n",
		"gpu_vram_bad_pages": "0x00000001 : 0x00001000 : R\n0x00000002 : 0x00001000 : P\n0x00000003 : 0x00001000 : F\n",
	} {
		if err := recording.AddFile("/sys/d/ras/"+name, text); err != nil {
			t.Fatal(err)
		}
	}
	ras := readAMDRAS(recording.Host().Files, "/sys/d")
	if ras.uncorrectable != 3 || ras.badPages != 2 || ras.String() != "ras/umc_err_count: 0, ras/gfx_err_count: 3" {
		t.Errorf("%+v (%s)", ras, ras)
	}
	if diff := cmp.Diff(map[string]int64{backend.ReasonUncorrectable: 3}, ras.signs().Counters); diff != "" {
		t.Error(diff)
	}
	if none := readAMDRAS(recording.Host().Files, "/sys/e"); none.signs().Counters != nil {
		t.Errorf("%+v of a GPU without RAS", none)
	}
}

func FuzzRASTexts(f *testing.F) {
	f.Add("ue: 2\nce: 7\n")
	f.Add("0x00000001 : 0x00001000 : P\n")
	f.Add("ue: -9223372036854775808")
	f.Fuzz(func(t *testing.T, text string) {
		if count := parseUncorrectable(text); count < 0 || count > backend.MaxErrors {
			t.Errorf("%d uncorrectable errors", count)
		}
		if pages := parseBadPages(text); pages < 0 || pages > int64(len(text)) {
			t.Errorf("%d bad pages in %d bytes", pages, len(text))
		}
	})
}
