package system

import (
	"os"
	"time"
)

// ModTime implements [modules.FileReader].
func (f *files) ModTime(path string) (time.Time, error) {
	if err := checkPath(path); err != nil {
		return time.Time{}, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return time.Time{}, err
	}
	return info.ModTime(), nil
}
