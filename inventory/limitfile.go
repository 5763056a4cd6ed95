package inventory

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/ccm-push/ccm-push/inventory/source"
)

// limitFile reads the terms of a file for [Inventory.Limit].
func limitFile(path string) ([]string, error) {
	f, err := os.Open(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("no such file: %s", path)
	case err != nil:
		return nil, source.Error(path, err)
	}
	defer f.Close()
	data, err := source.ReadAll(f, path)
	if err != nil {
		return nil, err
	}
	if len(data) == source.MaxBytes {
		return nil, fmt.Errorf("%s is larger than %d MiB", path, source.MaxBytes>>20)
	}
	var terms []string
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSpace(line)
		if line != "" && line[0] != '#' {
			terms = append(terms, line)
		}
	}
	return terms, nil
}
