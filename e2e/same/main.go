// Command same compares two builds of ccm-push: one of this tree, and one of another tree.
//
//	go run ./e2e/same [-seed N] [-plays N] [-exec PROGRAM] FOLDER
//
// FOLDER is a checkout of an older commit. Each build runs the scripts of cmd/ccm-push of this tree, and random plays. The
// outputs, exit statuses and events of both must be equal, except for values that differ from run to run, such as times.
//
//	main.go     the two builds, and the commands that both run
//	plays.go    random plays, as scripts
//	log.go      what a script printed, command by command
//	compare.go  differences
package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"hash/fnv"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"
)

// scripted are the tests of cmd/ccm-push that run scripts.
const scripted = "^(TestScripts|TestDocs|TestFailures|TestTypeExamples|TestCCMDesign)$"

// attempts is the maximum number of runs of a script with each build. Scripts differ from run to run where hosts or timeouts race.
const attempts = 4

// errDiffers reports that the builds are not the same.
var errDiffers = errors.New("the programs differ")

func main() {
	c := comparison{}
	flag.Uint64Var(&c.seed, "seed", 0, "`number` that chooses the plays (default: the commit chooses them)")
	flag.IntVar(&c.plays, "plays", 200, "`number` of random plays")
	flag.StringVar(&c.runner, "exec", "", "`program` that runs the test program, as in go test")
	flag.StringVar(&c.only, "run", scripted, "`pattern` of the tests whose scripts run")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := c.compare(ctx, flag.Arg(0)); err != nil {
		fmt.Fprintln(os.Stderr, "same:", err)
		os.Exit(1)
	}
}

// A comparison is one call of this program.
type comparison struct {
	seed   uint64
	plays  int
	runner string
	only   string

	dir  string // temporary, has everything below
	test string // the test program of this tree, which runs the scripts
}

func (c *comparison) compare(ctx context.Context, other string) (err error) {
	if os.Getuid() == 0 && c.runner == "" {
		return errors.New("scripts run as an ordinary user: call make same as one, or give EXEC=PROGRAM, which starts the tests as one")
	}
	if info, err := os.Stat(filepath.Join(other, "cmd/ccm-push")); other == "" || err != nil || !info.IsDir() {
		return fmt.Errorf("%q is not a checkout of ccm-push; call: make same OLD=FOLDER", other)
	}
	if c.dir, err = os.MkdirTemp("", "same-"); err != nil {
		return err
	}
	defer os.RemoveAll(c.dir)
	if err := os.Chmod(c.dir, 0o755); err != nil {
		return err
	}
	begin := time.Now()
	if err := errors.Join(c.build(ctx, other, "old"), c.build(ctx, ".", "new")); err != nil {
		return err
	}
	c.test = filepath.Join(c.dir, "new/ccm-push.test") // a copy: the name decides what the program does
	if err := os.Link(filepath.Join(c.dir, "new/ccm-push"), c.test); err != nil {
		return err
	}
	if c.seed == 0 {
		c.seed = seedOfCommit(ctx)
	}
	fmt.Printf("same: both are built; SEED=%d\n", c.seed)
	if err := writePlays(filepath.Join(c.dir, "plays"), c.seed, c.plays); err != nil {
		return err
	}
	plays := ""
	if c.plays > 0 {
		plays = "^TestScripts$"
	}
	old, now, err := c.both(ctx, c.only, plays)
	if err != nil {
		return err
	}
	differ := differences(old, now)
	for n := 1; n < attempts && len(differ) > 0; n++ {
		scripts, plays := patterns(differ)
		fmt.Printf("same: %d scripts differ at first; they run again\n", len(differ))
		moreOld, moreNew, err := c.both(ctx, scripts, plays)
		if err != nil {
			return err
		}
		old.add(moreOld)
		now.add(moreNew)
		differ = differences(old, now)
	}
	for _, d := range differ {
		fmt.Print(d.text)
	}
	fmt.Printf("same: %d commands of %d scripts and %d of %d plays: %d scripts differ; %s\n", now.commands(false), len(now)-c.plays,
		now.commands(true), c.plays, len(differ), time.Since(begin).Round(time.Second))
	if len(differ) > 0 {
		return errDiffers
	}
	return nil
}

// build builds the program of a tree as its tests run it, with its host programs, in a folder of c.dir.
func (c *comparison) build(ctx context.Context, tree, name string) error {
	to := filepath.Join(c.dir, name)
	for _, args := range [][]string{
		{"test", "-c", "-vet=off", "-o", filepath.Join(to, "ccm-push"), "./cmd/ccm-push"},
		{"run", "./modules/builds/gen", "-out", filepath.Join(to, "modules"), runtime.GOOS + "/" + runtime.GOARCH},
	} {
		cmd := exec.CommandContext(ctx, "go", args...)
		cmd.Dir = tree
		if text, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%s: go %s: %w\n%s", tree, strings.Join(args, " "), err, text)
		}
	}
	return nil
}

// both runs scripts, and plays, with both builds at once: scripts wait more than they compute. scripts and plays are patterns of
// tests; empty means none.
func (c *comparison) both(ctx context.Context, scripts, plays string) (old, now logs, err error) {
	old, now = logs{}, logs{}
	var g errgroup.Group
	g.Go(func() error { return c.all(ctx, "old", old, scripts, plays) })
	g.Go(func() error { return c.all(ctx, "new", now, scripts, plays) })
	return old, now, g.Wait()
}

// all runs scripts, and plays, with one build, and adds their logs to the others.
func (c *comparison) all(ctx context.Context, program string, to logs, scripts, plays string) error {
	if scripts != "" {
		got, err := c.run(ctx, program, scripts, "testdata/script")
		if err != nil {
			return err
		}
		to.add(got)
	}
	if plays != "" {
		got, err := c.run(ctx, program, plays, filepath.Join(c.dir, "plays"))
		if err != nil {
			return err
		}
		for name, list := range got {
			to[strings.Replace(name, "TestScripts", playsOf, 1)] = list
		}
	}
	return nil
}

// run runs the scripts of tests with a build. scripts is the folder of TestScripts.
func (c *comparison) run(ctx context.Context, program, tests, scripts string) (logs, error) {
	args := []string{c.test, "-test.v=test2json", "-test.run", tests, "-test.timeout=30m",
		"-program", filepath.Join(c.dir, program), "-scripts", scripts}
	if c.runner != "" {
		args = slices.Insert(args, 0, c.runner)
	}
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Dir = "cmd/ccm-push"
	var out, problems bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &problems
	begin := time.Now()
	err := cmd.Run()
	if exit, failed := errors.AsType[*exec.ExitError](err); ctx.Err() != nil || err != nil && (!failed || exit.ExitCode() != 1) {
		return nil, cmp.Or(ctx.Err(), fmt.Errorf("%s: %w\n%s", strings.Join(args, " "), err, problems.Bytes()))
	}
	got := parseLog(out.String())
	if len(got) == 0 {
		return nil, fmt.Errorf("%s ran no script\n%s%s", strings.Join(args, " "), out.Bytes(), problems.Bytes())
	}
	fmt.Printf("same: %d scripts with the %s program: %s\n", len(got), program, time.Since(begin).Round(time.Second))
	return got, nil
}

// patterns returns the patterns of the scripts and of the plays that differ.
func patterns(differ []difference) (scripts, plays string) {
	of := map[bool][]string{}
	for _, d := range differ {
		name, isPlay := strings.CutPrefix(d.script, playsOf+"/")
		if isPlay {
			name = "TestScripts/" + name
		}
		of[isPlay] = append(of[isPlay], name)
	}
	return pattern(of[false]), pattern(of[true])
}

// pattern returns a pattern that matches tests, and others with parts of the same names.
func pattern(tests []string) string {
	var parts [][]string
	for _, test := range tests {
		for i, part := range strings.Split(test, "/") {
			if i == len(parts) {
				parts = append(parts, nil)
			}
			if part = regexp.QuoteMeta(part); !slices.Contains(parts[i], part) {
				parts[i] = append(parts[i], part)
			}
		}
	}
	var all []string
	for _, part := range parts {
		all = append(all, "^("+strings.Join(part, "|")+")$")
	}
	return strings.Join(all, "/")
}

// seedOfCommit returns the seed that the hash of the commit chooses.
func seedOfCommit(ctx context.Context) uint64 {
	commit, _ := exec.CommandContext(ctx, "git", "rev-parse", "HEAD").Output() // without git the seed is always the same
	h := fnv.New64a()
	_, _ = h.Write(commit)
	return h.Sum64() % 1_000_000
}
