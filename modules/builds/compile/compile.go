// Package compile compiles host programs with the go command: for the generator that fills modules/builds/bin, and for
// tests.
//
// A program depends on its sources, the Go version and its target, and on nothing else of the machine that compiles it.
package compile

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/ccm-push/ccm-push/modules/builds"
	"github.com/ccm-push/ccm-push/modules/builds/deflate"
)

// A Target is the platform that a program is compiled for, in Go's names, and which of the two programs it is.
type Target struct {
	OS, Arch string
	Full     bool // with the build tag "full"
}

func (t Target) String() string {
	if t.Full {
		return t.OS + "/" + t.Arch + " (full)"
	}
	return t.OS + "/" + t.Arch
}

// Own is the lean target of this machine.
func Own() Target { return Target{OS: runtime.GOOS, Arch: runtime.GOARCH} }

// Both are the lean and the full target of each system among lean targets.
func Both(lean ...Target) []Target {
	var all []Target
	for _, t := range lean {
		full := t
		full.Full = true
		all = append(all, t, full)
	}
	return all
}

// ParseTarget reads "linux/amd64", the lean program.
func ParseTarget(s string) (Target, error) {
	goos, arch, ok := strings.Cut(s, "/")
	if !ok || goos == "" || arch == "" || strings.Contains(arch, "/") {
		return Target{}, fmt.Errorf("target %q is not of the form linux/amd64", s)
	}
	return Target{OS: goos, Arch: arch}, nil
}

// environment is the part of the go command's environment that affects its output. Settings of the caller must not:
// programs are compiled for the oldest CPU of each architecture, so that they run on all hosts.
func (t Target) environment() []string {
	return append(os.Environ(),
		"GOOS="+t.OS, "GOARCH="+t.Arch, "CGO_ENABLED=0", "GOFLAGS=", "GOEXPERIMENT=", "GOFIPS140=off", "GOWORK=off",
		"GOAMD64=v1", "GO386=sse2", "GOARM=6", "GOARM64=v8.0", "GORISCV64=rva20u64")
}

// run starts the go command and returns its standard output.
func (t Target) run(ctx context.Context, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Env = t.environment()
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("go %s for %s: %w\n%s", args[0], t, err, stderr.Bytes())
	}
	return stdout.Bytes(), nil
}

// commonFlags are the flags of go build that affect its output, except the id. Without -buildvcs=false a commit would
// change every program. Without -l, which turns inlining off, they would be a tenth larger; their speed depends on
// system calls, not on function calls. Without -dwarf=false a build would take a tenth longer to generate data that -w
// drops.
var commonFlags = []string{"-trimpath", "-buildvcs=false", "-mod=readonly", "-gcflags=all=-l -dwarf=false"}

// flags returns the flags of a target: the tag "host" separates a host program from the controller, which has all
// types, and another one the full program from the lean one.
func (t Target) flags() []string {
	if t.Full {
		return append(slices.Clip(commonFlags), "-tags=host,full")
	}
	return append(slices.Clip(commonFlags), "-tags=host")
}

const ldflags = "-s -w -buildid= -X main.build="

// ID identifies the programs that pkg and its dependencies produce for targets: a hash over the Go version, the
// settings and every source file outside the standard library. It does not depend on the location of those files. All
// programs of one controller have the same id, so the controller can recognize its own.
func ID(ctx context.Context, pkg string, targets ...Target) (string, error) {
	version, err := Own().run(ctx, "env", "GOVERSION")
	if err != nil {
		return "", err
	}
	listings, errs := make([][]byte, len(targets)), make([]error, len(targets))
	var eg errgroup.Group
	eg.SetLimit(runtime.NumCPU())
	for i, t := range targets {
		eg.Go(func() error {
			listings[i], errs[i] = t.run(ctx, slices.Concat([]string{"list", "-deps", "-json=ImportPath,Standard,Dir,GoFiles,SFiles,HFiles,EmbedFiles"}, t.flags(), []string{pkg})...)
			return nil
		})
	}
	eg.Wait()
	h := sha256.New()
	for i, t := range targets {
		if errs[i] != nil {
			return "", errs[i]
		}
		fmt.Fprintf(h, "%s%s %q %q\n", version, t, t.flags(), ldflags)
		if err := hashPackages(h, listings[i]); err != nil {
			return "", fmt.Errorf("build id of %s: %w", pkg, err)
		}
	}
	return hex.EncodeToString(h.Sum(nil))[:idLength], nil
}

// idLength is how many hex digits of the hash are kept: an id must differ between builds, but need not withstand
// attacks. Hosts verify the whole SHA-256.
const idLength = 20

// A listed package has the fields of `go list` that ID needs.
type listed struct {
	ImportPath string
	Standard   bool
	Dir        string
	GoFiles    []string
	SFiles     []string
	HFiles     []string
	EmbedFiles []string
}

func hashPackages(h io.Writer, listing []byte) error {
	d := json.NewDecoder(bytes.NewReader(listing))
	for {
		var p listed
		err := d.Decode(&p)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if p.Standard {
			continue
		}
		for _, name := range slices.Concat(p.GoFiles, p.SFiles, p.HFiles, p.EmbedFiles) {
			b, err := os.ReadFile(filepath.Join(p.Dir, name))
			if err != nil {
				return err
			}
			fmt.Fprintf(h, "%s/%s %x\n", p.ImportPath, name, sha256.Sum256(b))
		}
	}
}

// Build compiles pkg for t and embeds id. Without haste it spends some seconds on compression, which is worth it for
// programs that are sent often.
func Build(ctx context.Context, pkg string, t Target, id string, haste bool) (builds.Build, error) {
	dir, err := os.MkdirTemp("", "ccm-module-")
	if err != nil {
		return builds.Build{}, err
	}
	defer os.RemoveAll(dir)
	out := filepath.Join(dir, "ccm-module")
	if _, err := t.run(ctx, slices.Concat([]string{"build", "-o", out, "-ldflags", ldflags + id}, t.flags(), []string{pkg})...); err != nil {
		return builds.Build{}, err
	}
	program, err := os.ReadFile(out)
	if err != nil {
		return builds.Build{}, err
	}
	sum := sha256.Sum256(program)
	packed, err := pack(program, haste)
	return builds.Build{
		OS: t.OS, Arch: t.Arch, Full: t.Full, ID: id,
		SHA256: hex.EncodeToString(sum[:]), Size: int64(len(program)),
	}.WithCompressed(packed), err
}

// pack compresses with a header that holds neither name nor time.
func pack(b []byte, haste bool) ([]byte, error) {
	if !haste {
		return deflate.Gzip(b), nil
	}
	var out bytes.Buffer
	zw, err := gzip.NewWriterLevel(&out, gzip.BestSpeed)
	if err != nil {
		return nil, err
	}
	if _, err := zw.Write(b); err != nil {
		return nil, err
	}
	if err := zw.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}
