package checkpoint

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// saved is what torch.save writes of two storages into model.bin.
var saved = map[string]string{
	"model/data.pkl": "\x80\x02}q\x00.", "model/byteorder": "little", "model/data/0": strings.Repeat("a", 640), "model/data/1": strings.Repeat("b", 64),
	"model/version": "3\n", "model/.data/serialization_id": "0000",
}

func TestPyTorchStorages(t *testing.T) {
	file := archive(t, saved)
	got, err := readPyTorch(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	want := []Tensor{
		{Name: "0", Type: "storage", Shape: []int64{640}, Elements: 640, Bytes: 640},
		{Name: "1", Type: "storage", Shape: []int64{64}, Elements: 64, Bytes: 64},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// compressed writes an archive with an entry that grows when it is read.
func compressed(t testing.TB, size int) []byte {
	t.Helper()
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for name, content := range map[string]string{"m/data.pkl": ".", "m/data/0": strings.Repeat("\x00", size)} {
		f, err := w.Create(name)
		if err == nil {
			_, err = f.Write([]byte(content))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// sharing writes an archive in whose directory two entries point at the same content.
func sharing(t testing.TB) []byte {
	t.Helper()
	file := archive(t, map[string]string{"m/data.pkl": ".", "m/data/0": strings.Repeat("a", 64), "m/data/1": strings.Repeat("a", 64)})
	// The offset of an entry's header lies 42 bytes into its record in the directory.
	first := bytes.LastIndex(file, []byte("m/data/0")) - 46
	second := bytes.LastIndex(file, []byte("m/data/1")) - 46
	copy(file[second+42:second+46], file[first+42:first+46])
	return file
}

// promising writes an archive whose directory claims more content than there is.
func promising(t testing.TB) []byte {
	t.Helper()
	file := archive(t, saved)
	record := bytes.LastIndex(file, []byte("model/data/0")) - 46
	for _, at := range []int{20, 24} {
		binary.LittleEndian.PutUint32(file[record+at:], 1<<31)
	}
	return file
}

func TestPyTorchRefusals(t *testing.T) {
	file := archive(t, saved)
	tests := map[string]struct {
		file []byte
		want string
	}{
		"nothing":       {nil, "cannot be read"},
		"magic alone":   {[]byte(zipMagic), "cannot be read"},
		"cut off":       {file[:len(file)-30], "cannot be read"},
		"other archive": {archive(t, map[string]string{"word/document.xml": "<x/>"}), "without data.pkl"},
		"no storages":   {archive(t, map[string]string{"m/data.pkl": "."}), "no storages"},
		"zip bomb":      {compressed(t, 1<<20), "it is compressed"},
		"shared bytes":  {sharing(t), "share bytes"},
		"false size":    {promising(t), "cut off"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := readPyTorch(bytes.NewReader(test.file), int64(len(test.file)))
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want %q", err, test.want)
			}
		})
	}
}

// TestPyTorchDirectoryIsBounded gives an archive whose directory is larger than any model's.
func TestPyTorchDirectoryIsBounded(t *testing.T) {
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	comment := strings.Repeat("x", 60_000)
	for i := range 300 {
		if _, err := w.CreateHeader(&zip.FileHeader{Name: strings.Repeat("y", i), Comment: comment, Method: zip.Store}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	_, err := readPyTorch(bytes.NewReader(out.Bytes()), int64(out.Len()))
	if err == nil || !strings.Contains(err.Error(), "its directory has more than") {
		t.Errorf("error %v", err)
	}
}

func FuzzPyTorch(f *testing.F) {
	f.Add(archive(f, saved))
	f.Add(sharing(f))
	f.Add(promising(f))
	f.Add(compressed(f, 4096))
	f.Fuzz(func(t *testing.T, file []byte) {
		tensors, err := readPyTorch(bytes.NewReader(file), int64(len(file)))
		if err == nil {
			checkHeld(t, tensors, int64(len(file)))
		}
	})
}
