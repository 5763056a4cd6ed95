package swap

import (
	"cmp"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/e2e/needs"
	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/file"
	"github.com/ccm-push/ccm-push/modules/modtest"
)

// The programs of a tree change its files only: real ones would activate a test's swap area on the machine.
const (
	mkswap  = "#!/bin/sh\nprintf SWAPSPACE2 | dd of=\"${0%/bin/*}$1\" bs=1 seek=4086 conv=notrunc 2>/dev/null\n"
	swapon  = "#!/bin/sh\nat=${0%/*}/../proc/swaps\np=${2#*pri=}; [ \"$p\" != \"$2\" ] || p=-2\n[ -z \"${3##*refused*}\" ] && { echo 'swapon: Invalid argument' >&2; exit 255; }\necho \"$3 file 40 0 ${p%%,*}\" >>\"$at\"\n"
	swapoff = "#!/bin/sh\nat=${0%/*}/../proc/swaps\ngrep -v \"^$1 \" \"$at\" >\"$at.new\"; cat \"$at.new\" >\"$at\"; rm \"$at.new\"\n"
)

// area is a file with the signature of a swap area.
func area(pages int) string {
	return strings.Repeat("\x00", page-10) + "SWAPSPACE2" + strings.Repeat("\x00", (pages-1)*page)
}

func tree(swaps string, more ...modtest.Node) []modtest.Node {
	return append([]modtest.Node{
		{Path: "bin", Dir: true}, {Path: "proc", Dir: true}, {Path: "etc", Dir: true},
		{Path: "bin/mkswap", Mode: 0o755, Text: mkswap}, {Path: "bin/swapon", Mode: 0o755, Text: swapon}, {Path: "bin/swapoff", Mode: 0o755, Text: swapoff},
		{Path: "proc/swaps", Text: "Filename Type Size Used Priority\n" + swaps},
	}, more...)
}

func with(more string) string { return `{"root":"$ROOT",` + more + `}` }

func TestConverges(t *testing.T) {
	change := func(property, have, want string) modules.Change {
		return modules.Change{Property: property, Have: have, Want: want}
	}
	fstab := func(options string) modtest.Node {
		return modtest.Node{Path: "etc/fstab", Text: "# ours\n/swap none swap " + options + " 0 0\n"}
	}
	modtest.Converges(t, modtest.Rooted(Type()), []modtest.Fixture{
		{
			Name: "new", Tree: tree(""), Properties: with(`"name":"/swap","size":"64K","priority":5`), Action: "edited fstab, made the file and activated it",
			Changes: []modules.Change{change("size", absent, "65536"), change("active", "no", "yes"), change("fstab", absent, "/swap none swap sw,pri=5 0 0")},
		},
		{
			Name: "for the next boot", Tree: tree("", fstab("sw")), Properties: with(`"name":"/swap","ensure":"present","size":"64K"`), Action: "made the file",
			Changes: []modules.Change{change("size", absent, "65536")},
		},
		{
			Name: "made halfway", Stays: "swap", Past: true, Tree: tree("", fstab("sw"), modtest.Node{Path: "swap", Text: strings.Repeat("\x00", 16*page), Mode: 0o644}), Properties: with(`"name":"/swap","size":"64K"`),
			Action: "set its mode, made it a swap area and activated it", Changes: []modules.Change{change("mode", "others may read it", "0600"), change("holds", "nothing", "swap"), change("active", "no", "yes")},
		},
		{
			Name: "as it shall be", Tree: tree("", fstab("sw"), modtest.Node{Path: "swap", Text: area(16), Mode: 0o600}), Properties: with(`"name":"/swap","ensure":"present","size":"64K"`),
		},
		{
			Name: "another size", Tree: tree("", fstab("sw"), modtest.Node{Path: "swap", Text: area(10), Mode: 0o600}), Properties: with(`"name":"/swap","ensure":"present","size":"64K"`),
			Action: "made the file", Changes: []modules.Change{change("size", "40960", "65536")},
		},
		{
			Name: "something else", Tree: tree("", modtest.Node{Path: "swap", Text: "letters"}), Properties: with(`"name":"/swap","size":"64K"`),
			Err: "/swap holds something else and no swap area; nothing is overwritten",
		},
		{
			Name: "something else that shall go", Tree: tree("", modtest.Node{Path: "swap", Text: "letters"}), Properties: with(`"name":"/swap","ensure":"absent"`),
			Err: "/swap holds something else and no swap area; it is not removed",
		},
		{
			Name: "absent", Tree: tree("", fstab("sw"), modtest.Node{Path: "swap", Text: area(16), Mode: 0o600}), Properties: with(`"name":"/swap","ensure":"absent"`),
			Action: "edited fstab and removed the file", Changes: []modules.Change{change("ensure", present, absent), change("fstab", "/swap none swap sw 0 0", absent)},
		},
		{Name: "absent already", Tree: tree(""), Properties: with(`"name":"/swap","ensure":"absent"`)},
	}...)
}

// TestActive changes areas that are swapped to.
func TestActive(t *testing.T) {
	for _, test := range []struct {
		name, line, swap string
		want             Swap
		action, after    string
	}{
		{"another priority", "/swap file 60 0 -2\n", area(16), Swap{Size: "64K", Priority: new(int)}, "edited fstab and activated it again", "/swap file 40 0 0\n"},
		{"another size", "/swap file 60 0 -2\n", area(10), Swap{Size: "64K"}, "edited fstab, made the file and activated it again", "/swap file 40 0 -2\n"},
		{"away", "/swap file 60 0 -2\n/swap2 file 1 0 -3\n", area(16), Swap{Ensure: absent}, "deactivated it and removed the file", "/swap2 file 1 0 -3\n"},
		{"present is content with both", "/swap file 60 0 7\n", area(16), Swap{Ensure: present, Size: "64K"}, "edited fstab", "/swap file 60 0 7\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			root := t.TempDir()
			modtest.Build(t, root, tree(test.line, modtest.Node{Path: "swap", Text: test.swap, Mode: 0o600}))
			s := test.want
			if s.Name = "/swap"; s.Ensure == "" {
				s.Ensure = active
			}
			h := modtest.RootedHost(root, modtest.Host())
			plan, err := s.Check(t.Context(), modules.ReadOnly(h))
			require.NoError(t, err)
			require.Equal(t, test.action, plan.Action)
			require.NoError(t, s.Apply(t.Context(), h, plan))
			swaps, err := os.ReadFile(root + "/proc/swaps")
			require.NoError(t, err)
			require.Equal(t, test.after, strings.TrimPrefix(string(swaps), "Filename Type Size Used Priority\n"))
			again, err := s.Check(t.Context(), modules.ReadOnly(h))
			require.NoError(t, err)
			require.False(t, again.Pending(), "%+v", again)
		})
	}
}

func TestPredicts(t *testing.T) {
	step := func(properties string) modtest.Step { return modtest.Step{Type: "swap", Properties: with(properties)} }
	modtest.Predicts(t, modules.Registry{modtest.Rooted(Type()), file.Type()}, modtest.Scenario{
		Tree: tree(""),
		Steps: []modtest.Step{
			step(`"name":"/swap","ensure":"present","size":"64K"`),
			step(`"name":"/swap","ensure":"present","size":"64K"`),
			step(`"name":"/none/swap","ensure":"present","size":"64K"`),
			step(`"name":"/swap","ensure":"present","size":"1M"`),
			step(`"name":"/swap","size":"1M"`),
			step(`"name":"/swap","ensure":"absent"`),
			{Type: "file", Properties: `{"name":"$ROOT/swap","ensure":"absent"}`},
			step(`"name":"/refused","size":"64K"`),
		},
		Want: []string{"changed", "stable", "failed", "changed", "changed unknown", "changed unknown", "stable unknown", "changed unknown"},
	})
}

func TestReversal(t *testing.T) {
	root := t.TempDir()
	modtest.Build(t, root, tree("", modtest.Node{Path: "etc/fstab", Text: "# ours\n"}))
	with := func(s Swap) modules.Reverser {
		s.Name = "/swap"
		return modtest.In(root, &s)
	}
	modtest.Undone(t, root, with(Swap{Ensure: active, Size: "64K"}), with(Swap{Ensure: active, Size: "128K"}))

	// An earlier area exists again.
	root = t.TempDir()
	modtest.Build(t, root, tree("", modtest.Node{Path: "swap", Text: area(16), Mode: 0o600}))
	modtest.Undone(t, root, with(Swap{Ensure: absent}))
	modtest.Undone(t, root, with(Swap{Ensure: present, Size: "64K"}))
}

// TestDevice runs the real blkid on files that the real mkswap has made, in place of devices.
func TestDevice(t *testing.T) {
	var real string
	for _, program := range []string{"blkid", "mkswap"} {
		at, err := exec.LookPath(program)
		if err != nil {
			needs.Missing(t, program)
		}
		real = cmp.Or(real, at)
	}
	root := t.TempDir()
	modtest.Build(t, root, []modtest.Node{
		{Path: "etc", Dir: true}, {Path: "bin", Dir: true},
		{Path: "bin/blkid", Text: "#!/bin/sh\nexec " + real + ` "$1" "$2" "$3" "$4" "$5" "${0%/bin/*}$6"` + "\n", Mode: 0o755},
	})
	h := modules.ReadOnly(modtest.RootedHost(root, modtest.Host()))
	for name, text := range map[string]string{
		"swap": strings.Repeat("\x00", 16*page), "blank": strings.Repeat("\x00", 16*page), "partitions": strings.Repeat("\x00", 510) + "\x55\xaa" + strings.Repeat("\x00", 16*page),
	} {
		require.NoError(t, os.WriteFile(root+"/"+name, []byte(text), 0o600))
	}
	made := &Swap{Name: "/swap"}
	require.NoError(t, modules.RunProgram(t.Context(), modtest.Host(), modules.Command{Argv: []string{"mkswap", root + "/swap"}}))
	holds, err := made.header(h)
	require.NoError(t, err)
	require.Equal(t, swapArea, holds)
	for name, want := range map[string]string{"swap": swapArea, "blank": nothing, "partitions": "something else"} {
		holds, err := (&Swap{Name: "/" + name}).signature(t.Context(), h)
		require.NoError(t, err, name)
		require.Equal(t, want, holds, name)
	}
}

func TestValidate(t *testing.T) {
	const size = " (write a number followed by K, M, G or T, such as 512M or 2G: at least 40K, a multiple of 4K)"
	low := -1
	modtest.Validates(t, []modtest.Verdict[Swap]{
		{Of: Swap{Name: "/swap", Size: "2G"}},
		{Of: Swap{Name: "/swap", Size: "65536", Options: []string{"nofail"}}},
		{Of: Swap{Name: "/dev/sdb2"}},
		{Of: Swap{Name: "/swap", Ensure: absent}},
		{Of: Swap{Name: "/swap"}, Err: `size: "size" cannot be empty (write how large the file is, such as 2G)`},
		{Of: Swap{Name: "/swap", Size: "2GB"}, Err: `size: "2GB" is not a size` + size},
		{Of: Swap{Name: "/swap", Size: "39K"}, Err: `size: "39K" is not a size` + size},
		{Of: Swap{Name: "/swap", Size: "41K"}, Err: `size: "41K" is not a size` + size},
		{Of: Swap{Name: "/swap", Size: "999999999999999T"}, Err: `size: "999999999999999T" is not a size` + size},
		{Of: Swap{Name: "/dev/sdb2", Size: "2G"}, Err: "size: a device has the size that it has"},
		{Of: Swap{Name: "/swap", Size: "2G", Priority: &low}, Err: `priority: "priority" must be from 0 to 32767, not -1`},
		{Of: Swap{Name: "/swap", Size: "2G", Options: []string{"pri=5"}}, Err: `options[0]: "pri=5" is not one option`},
	})
}

func TestDescribe(t *testing.T) {
	root := t.TempDir()
	modtest.Build(t, root, tree("/on file 60 0 3\n", modtest.Node{Path: "on", Text: area(16)}, modtest.Node{Path: "off", Text: area(10)}, modtest.Node{Path: "etc/fstab", Text: "/off none swap sw\n"}))
	for name, want := range map[string]string{
		"on": `{"ensure":"active","name":"/on","size":65536,"priority":3}`, "off": `{"ensure":"present","name":"/off","size":40960,"fstab":"/off none swap sw"}`, "none": `{"ensure":"absent","name":"/none"}`,
	} {
		modtest.Describes(t, modtest.RootedHost(root, modtest.Host()), &Swap{Name: "/" + name}, want)
	}
}
