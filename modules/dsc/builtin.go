package dsc

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/dsc/manifest"
	"github.com/ccm-push/ccm-push/modules/process"
)

// A builtinResource is a resource that comes with DSC and that documents expect. It is implemented here, so that a host
// needs no program for it.
type builtinResource struct {
	manifest *manifest.Manifest
	formerly string                                                          // name in the first releases of DSC; may be empty
	get      func(ctx context.Context, in *instance) (map[string]any, error) // nil: there is no state
	differ   func(in *instance, state map[string]any) []string               // nil: by comparing
	set      func(ctx context.Context, in *instance) (map[string]any, error) // nil: it is read-only
}

// builtinResourceOf finds one of them; nil if the type is another.
func builtinResourceOf(typeName string) *builtinResource {
	for _, o := range []*builtinResource{osInfo(), echo(), runCommandOnSet()} {
		if o.manifest.Is(typeName) || strings.EqualFold(o.formerly, typeName) && o.formerly != "" {
			return o
		}
	}
	return nil
}

// builtinManifest describes one of them.
func builtinManifest(typ, version, schema string) *manifest.Manifest {
	return &manifest.Manifest{
		Dialect: manifest.Current, Type: typ, Version: version, Kind: manifest.KindResource, CaseSensitive: true,
		Schema: &manifest.Schema{Embedded: json.RawMessage(schema)},
	}
}

// test compares the state.
func (o *builtinResource) test(ctx context.Context, in *instance) (verdict, error) {
	if o.get == nil {
		return verdict{untestable: true}, nil
	}
	state, err := o.get(ctx, in)
	if err != nil {
		return verdict{}, err
	}
	differ := in.compare(state)
	if o.differ != nil {
		differ = o.differ(in, state)
	}
	return verdict{ok: len(differ) == 0, state: state, differ: differ}, nil
}

// allowed reports a command that would show others what must not be shown.
func (o *builtinResource) allowed(in *instance) error {
	if o.set == nil || !in.resource.discreet {
		return nil
	}
	return failed("", "the resource is sensitive, and %s passes its properties as arguments, which other users can see; use a type that passes them on standard input", o.manifest.Type)
}

// echo returns its input. It is always in the desired state.
func echo() *builtinResource {
	return &builtinResource{
		formerly: "Test/Echo",
		manifest: builtinManifest("Microsoft.DSC.Debug/Echo", "1.0.0",
			`{"type": "object", "required": ["output"], "properties": {"output": {}, "showSecrets": {"type": "boolean"}}, "additionalProperties": false}`),
		get: func(_ context.Context, in *instance) (map[string]any, error) {
			return map[string]any{"output": in.wanted["output"]}, nil
		},
		differ: func(*instance, map[string]any) []string { return nil },
	}
}

// osInfo describes the operating system.
func osInfo() *builtinResource {
	return &builtinResource{
		manifest: builtinManifest("Microsoft/OSInfo", "1.0.0", `{"type": "object", "additionalProperties": false, "properties": {
			"$id": {"type": "string"}, "family": {"enum": ["Linux", "macOS", "Windows"]}, "version": {"type": "string"},
			"codename": {"type": "string"}, "edition": {"type": "string"},
			"bitness": {"enum": ["32", "64", "unknown", 32, 64]}, "architecture": {"type": "string"}}}`),
		get: func(_ context.Context, in *instance) (map[string]any, error) { return system(in.resource.h) },
		differ: func(in *instance, state map[string]any) []string {
			var names []string
			for _, name := range (rules{}).diff(in.wanted, state) {
				if name == "$id" || name == "version" && versionFits(in.wanted[name], state[name]) ||
					name == "bitness" && fmt.Sprint(in.wanted[name]) == state[name] {
					continue
				}
				names = append(names, name)
			}
			return names
		},
	}
}

// system returns the state of Microsoft/OSInfo for a host.
func system(h modules.Host) (map[string]any, error) {
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		return nil, fmt.Errorf("uname: %w", err)
	}
	architecture := unix.ByteSliceToString(u.Machine[:])
	state := map[string]any{
		"family":       map[string]string{"linux": "Linux", "darwin": "macOS"}[runtime.GOOS],
		"bitness":      bitness(architecture),
		"architecture": architecture,
		"version":      unix.ByteSliceToString(u.Release[:]),
	}
	for _, file := range []string{"/etc/os-release", "/usr/lib/os-release"} {
		release, err := readRelease(h, file)
		if err != nil {
			continue
		}
		if v := release["VERSION_ID"]; v != "" {
			state["version"] = v
		}
		if v := release["VERSION_CODENAME"]; v != "" {
			state["codename"] = v
		}
		break
	}
	if state["family"] == "" {
		state["family"] = unix.ByteSliceToString(u.Sysname[:])
	}
	return state, nil
}

// bitness returns the width of addresses, by the kernel's name of the machine.
func bitness(machine string) string {
	for _, narrow := range []string{"i386", "i486", "i586", "i686", "armv6l", "armv7l", "armv5tel"} {
		if machine == narrow {
			return "32"
		}
	}
	return "64"
}

// readRelease reads os-release(5): KEY=value, with the quotes of a shell.
func readRelease(h modules.Host, file string) (map[string]string, error) {
	r, err := h.Files.Open(file)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	release := map[string]string{}
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		key, value, ok := strings.Cut(strings.TrimSpace(lines.Text()), "=")
		if !ok || strings.HasPrefix(key, "#") {
			continue
		}
		if len(value) >= 2 && (value[0] == '"' || value[0] == '\'') && value[len(value)-1] == value[0] {
			value = value[1 : len(value)-1]
		}
		release[key] = value
	}
	return release, lines.Err()
}

// comparison is a version with an operator before it.
var comparison = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\s*(>=|<=|=|>|<)\s*([0-9]+(?:\.[0-9]+)*)\s*$`) })

// versionFits checks a version against a comparison such as ">= 12".
func versionFits(wanted, actual any) bool {
	want, _ := wanted.(string)
	have, _ := actual.(string)
	m := comparison().FindStringSubmatch(want)
	if m == nil {
		return false
	}
	c, ok := compareDotted(have, m[2])
	if !ok {
		return false
	}
	switch m[1] {
	case ">":
		return c > 0
	case "<":
		return c < 0
	case ">=":
		return c >= 0
	case "<=":
		return c <= 0
	}
	return c == 0
}

// compareDotted compares dotted numbers; missing ones are 0.
func compareDotted(a, b string) (c int, ok bool) {
	x, y := strings.Split(a, "."), strings.Split(b, ".")
	for i := range max(len(x), len(y)) {
		m, errM := part(x, i)
		n, errN := part(y, i)
		switch {
		case errM != nil || errN != nil:
			return 0, false
		case m != n:
			return map[bool]int{true: -1, false: 1}[m < n], true
		}
	}
	return 0, true
}

func part(list []string, i int) (uint64, error) {
	if i >= len(list) {
		return 0, nil
	}
	return strconv.ParseUint(list[i], 10, 64)
}

// runCommandOnSet runs a program each time.
func runCommandOnSet() *builtinResource {
	return &builtinResource{
		manifest: builtinManifest("Microsoft.DSC.Transitional/RunCommandOnSet", "1.0.0", `{"type": "object", "required": ["executable"],
			"additionalProperties": false, "properties": {"executable": {"type": "string", "minLength": 1},
			"arguments": {"type": "array", "items": {"type": "string"}}, "exitCode": {"type": "integer"}}}`),
		set: runCommand,
	}
}

func runCommand(ctx context.Context, in *instance) (map[string]any, error) {
	executable, _ := in.wanted["executable"].(string)
	argv := []string{executable}
	list, _ := in.wanted["arguments"].([]any)
	for _, arg := range list {
		text, _ := arg.(string)
		argv = append(argv, text)
	}
	exit, err := in.resource.h.Commands.Run(ctx, modules.Command{Argv: argv, Timeout: in.resource.timeout, Path: strings.Join(safePath(in.resource.h), ":"), Home: true})
	if err != nil {
		return nil, notRun("the command", err)
	}
	in.resource.h.Report.Output(exit)
	expected := 0
	if n, ok := in.wanted["exitCode"].(json.Number); ok {
		if expected, err = strconv.Atoi(string(n)); err != nil {
			return nil, errors.New(`"exitCode" is out of range`)
		}
	}
	if exit.Code != expected {
		return nil, failed(process.Last(exit.Stderr.Text), "the command has ended with exit code %d, not %d", exit.Code, expected)
	}
	state := map[string]any{"executable": executable, "exitCode": json.Number(strconv.Itoa(exit.Code))}
	if list != nil {
		state["arguments"] = list
	}
	return state, nil
}
