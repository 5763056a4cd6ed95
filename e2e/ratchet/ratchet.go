// Package ratchet reads and writes lists of limits that may only fall: a line for each key, with a number at its end.
package ratchet

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Encode returns the list: comment as its first line, then the limits, sorted by key. A key may contain blanks.
func Encode(comment string, limits map[string]int) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "# %s\n", comment)
	for _, key := range slices.Sorted(maps.Keys(limits)) {
		fmt.Fprintf(&b, "%s %d\n", key, limits[key])
	}
	return b.Bytes()
}

// Decode reads a list. Empty lines and lines that begin with # are skipped. Its errors begin with the number of the line.
func Decode(content []byte) (map[string]int, error) {
	limits := map[string]int{}
	n := 0
	for line := range strings.Lines(string(content)) {
		n++
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		blank := strings.LastIndexByte(line, ' ')
		limit, err := strconv.Atoi(line[blank+1:])
		if blank < 0 || err != nil {
			return nil, fmt.Errorf("line %d: write KEY NUMBER, not %q", n, line)
		}
		limits[strings.TrimSpace(line[:blank])] = limit
	}
	return limits, nil
}
