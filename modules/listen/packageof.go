package listen

import (
	"context"
	"os/exec"
	"strings"
	"time"
)

// PackageOf returns the package that contains a program, as dpkg or rpm knows it; "" if unknown. It runs a program of
// the host, for five seconds at most, so call it only for reported changes, not for every hint.
func PackageOf(ctx context.Context, program string) string {
	if !strings.HasPrefix(program, "/") || strings.ContainsAny(program, "*?[\\\n") { // dpkg-query takes patterns
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	ask := func(args ...string) string {
		cmd := exec.CommandContext(ctx, args[0], args[1:]...)
		cmd.WaitDelay = time.Second
		out, err := cmd.Output()
		if err != nil {
			return ""
		}
		line, _, _ := strings.Cut(string(out), "\n")
		return strings.TrimSpace(line)
	}
	// dpkg knows the paths of before /usr was merged, too.
	for _, p := range []string{program, strings.TrimPrefix(program, "/usr")} {
		if owner, _, ok := strings.Cut(ask("dpkg-query", "-S", "--", p), ": "); ok {
			name, _, _ := strings.Cut(owner, ":") // the architecture follows
			return name
		}
	}
	return ask("rpm", "-qf", "--qf", "%{NAME}\n", "--", program)
}
