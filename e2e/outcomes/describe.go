package outcomes

import (
	"fmt"
	"strings"
	"time"
)

// Describe prints a case, what happened in it, and the rules that it broke.
func Describe(o *Outcome, found []Violation) string {
	var b strings.Builder
	fmt.Fprintf(&b, "seed %d\n", o.Case.Seed)
	for _, v := range found {
		fmt.Fprintf(&b, "BROKEN %s\n", v)
	}
	fmt.Fprintf(&b, "\nsite.yaml:\n%s\n", o.Case.Manifest())
	for n, c := range o.Called {
		fmt.Fprintf(&b, "call %d: %s %s: status %d after %s, begun %s\n", n+1, c.Do, strings.Join(c.Args, " "), c.Status, c.Took.Round(time.Millisecond), c.Begin.Format("05.000"))
		for _, f := range c.Faults {
			fmt.Fprintf(&b, "  fault: %s\n", f)
		}
		for _, s := range o.Struck {
			if s.Call == n {
				fmt.Fprintf(&b, "  struck at %s: %s\n", s.At.Format("05.000"), s.Fault)
			}
		}
		for _, run := range c.Runs {
			fmt.Fprintf(&b, "  run %s\n", run.ID)
			for _, e := range run.Events {
				fmt.Fprintf(&b, "    %s %s\n", e.Time.Format("05.000"), e)
			}
		}
		if c.Output != "" {
			fmt.Fprintf(&b, "  stderr: %s\n", strings.TrimSpace(c.Output))
		}
	}
	b.WriteString("what happened:")
	b.WriteString(list(o.Truth.Began) + "\n")
	return b.String()
}
