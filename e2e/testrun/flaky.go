package main

import (
	"fmt"
	"strings"
	"time"
)

const (
	flakyTests = 5                   // entries that the list may have
	flakyAge   = 14 * 24 * time.Hour // the time for a repair
)

// flaky checks a list of tests that are known to be flaky. A line is "TEST DATE CAUSE", such as
// "TestRelays 2026-01-31 the port is taken"; # begins a comment.
func flaky(file, text string, now time.Time) error {
	entries, n := 0, 0
	for line := range strings.Lines(text) {
		n++
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		entries++
		fields := strings.SplitN(line, " ", 3)
		if len(fields) < 3 || !strings.HasPrefix(fields[0], "Test") {
			return fmt.Errorf("%s:%d: write TEST DATE CAUSE, not %q", file, n, line)
		}
		date, err := time.Parse(time.DateOnly, fields[1])
		if err != nil {
			return fmt.Errorf("%s:%d: %q is not a date such as 2026-01-31", file, n, fields[1])
		}
		if now.Sub(date) > flakyAge {
			return fmt.Errorf("%s:%d: %s is flaky since %s: repair the test, or remove it", file, n, fields[0], fields[1])
		}
	}
	if entries > flakyTests {
		return fmt.Errorf("%s: %d tests are flaky, and the limit is %d: repair one", file, entries, flakyTests)
	}
	return nil
}
