package images

import (
	"archive/tar"
	"errors"
	"io"
)

// eachFile calls see for every file of a tar stream, and closes it.
func eachFile(stream io.ReadCloser, see func(name, content string, mode int64)) error {
	defer func() { _ = stream.Close() }()
	for members := tar.NewReader(stream); ; {
		header, err := members.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if header.Typeflag != tar.TypeReg {
			continue
		}
		content, err := io.ReadAll(members)
		if err != nil {
			return err
		}
		see(header.Name, string(content), header.Mode)
	}
}
