package locale

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/file"
	"github.com/ccm-push/ccm-push/modules/link"
	"github.com/ccm-push/ccm-push/modules/modtest"
)

const (
	localeProgram = "#!/bin/sh\ncd \"${0%/*}/../usr/lib/locale\"; echo C; for f in *; do case $f in \\*) ;; *) echo $f ;; esac; done\n"
	localedef     = "#!/bin/sh\nPATH=/bin:/usr/bin\nat=${0%/*}/../usr/lib/locale\nif [ $1 = -i ]; then n=${8%UTF-8}; [ $n = $8 ] || n=${n}utf8; echo \"$2 $5\" >$at/$n; case $n in *.*) ;; *@*) : >$at/${n%@*}.iso885915@${n#*@} ;; *) : >$at/$n.iso88591 ;; esac; exit 1; fi\nrm $at/$2; [ $# -lt 3 ] || rm $at/$3\n"
)

// debian is a host with locale-gen, other one without.
func debian(more ...modtest.Node) []modtest.Node {
	return other(append([]modtest.Node{
		{Path: "bin/locale-gen", Mode: 0o755, Text: "#!/bin/sh\nexit 9\n"}, {Path: "bin/dpkg", Mode: 0o755, Text: "#!/bin/sh\n"}, {Path: "etc/default", Dir: true},
		{Path: "usr/share", Dir: true}, {Path: "usr/share/i18n", Dir: true},
		{Path: "usr/share/i18n/SUPPORTED", Text: "de_AT ISO-8859-1\nde_AT.UTF-8 UTF-8\nde_DE@euro ISO-8859-15\nfr_FR.UTF-8 UTF-8\n"},
	}, more...)...)
}

func other(more ...modtest.Node) []modtest.Node {
	var all []modtest.Node
	for _, dir := range []string{"bin", "etc", "usr", "usr/lib", "usr/lib/locale"} {
		all = append(all, modtest.Node{Path: dir, Dir: true})
	}
	return append(append(all, modtest.Node{Path: "bin/locale", Mode: 0o755, Text: localeProgram}, modtest.Node{Path: "bin/localedef", Mode: 0o755, Text: localedef}), more...)
}

func with(more string) string { return `{"root":"$ROOT",` + more + `}` }

func TestConverges(t *testing.T) {
	change := func(property, have, want string) modules.Change {
		return modules.Change{Property: property, Have: have, Want: want}
	}
	list := func(text string) modtest.Node { return modtest.Node{Path: "etc/locale.gen", Text: text} }
	austria := modtest.Node{Path: "usr/lib/locale/de_AT.utf8", Text: "de_AT UTF-8\n"}
	chosen := func(path, text string) modtest.Node { return modtest.Node{Path: path, Text: text} }
	modtest.Converges(t, modtest.Rooted(Type()), modtest.Kept("usr/lib/locale/*", "$ROOT/usr/lib/locale/locale-archive", []modtest.Fixture{
		{
			Name: "generated", Tree: debian(list("# all\n# de_AT ISO-8859-1\n# de_AT.UTF-8 UTF-8\n")), Properties: with(`"name":"de_AT.UTF-8"`),
			Action: "generated the locale", Changes: []modules.Change{change("ensure", absent, present), change("locale.gen", absent, "de_AT.UTF-8 UTF-8")},
		},
		{
			Name: "and the default one", Tree: debian(chosen("etc/default/locale", "# ours\nLANG=C\nLC_TIME=C\n")), Properties: with(`"name":"de_AT.UTF-8","default":true`),
			Action: "generated the locale", Changes: []modules.Change{change("ensure", absent, present), change("locale.gen", absent, "de_AT.UTF-8 UTF-8"), change("default", "C", "de_AT.UTF-8")},
		},
		{
			Name: "behind a link, as on Debian 13", Tree: debian(list("de_AT.utf8 UTF-8\n"), austria, chosen("etc/locale.conf", "LANG=C\n"), modtest.Node{Path: "etc/default/locale", Link: "../locale.conf"}),
			Properties: with(`"name":"de_AT.UTF-8","default":true`), Action: "set it up", Changes: []modules.Change{change("default", "C", "de_AT.UTF-8")},
		},
		{
			Name: "another spelling", Tree: debian(list("de_AT.utf8 UTF-8\n"), austria, chosen("etc/default/locale", "LANG=\"de_AT.utf8\"\n")), Properties: with(`"name":"de_AT.UTF-8","default":true`),
		},
		{
			Name: "there, and not listed", Tree: debian(austria), Properties: with(`"name":"de_AT.UTF-8"`),
			Action: "set it up", Changes: []modules.Change{change("locale.gen", absent, "de_AT.UTF-8 UTF-8")},
		},
		{
			Name: "with a variant", Tree: debian(), Properties: with(`"name":"de_DE@euro"`),
			Action: "generated the locale", Changes: []modules.Change{change("ensure", absent, present), change("locale.gen", absent, "de_DE@euro ISO-8859-15")},
		},
		{
			Name: "absent", Tree: debian(list("de_AT.UTF-8 UTF-8\nfr_FR.UTF-8 UTF-8\n"), austria), Properties: with(`"name":"de_AT.UTF-8","ensure":"absent"`),
			Action: "removed the locale", Changes: []modules.Change{change("ensure", present, absent), change("locale.gen", "de_AT.UTF-8 UTF-8", absent)},
		},
		{Name: "absent already", Tree: debian(list("# de_AT.UTF-8 UTF-8\n")), Properties: with(`"name":"de_AT.UTF-8","ensure":"absent"`)},
		{Name: "of the library", Tree: debian(list("")), Properties: with(`"name":"C"`)},
		{Name: "unknown", Tree: debian(), Properties: with(`"name":"xx_YY.UTF-8"`), Err: "this host cannot generate xx_YY.UTF-8: /usr/share/i18n/SUPPORTED has no such locale"},
		{Name: "of the library, that shall go", Tree: debian(), Properties: with(`"name":"C.UTF-8","ensure":"absent"`), Err: "the C library always has C.UTF-8"},
		{
			Name: "of a package", Tree: other(austria), Properties: with(`"name":"de_AT.UTF-8","default":true`),
			Action: "set it up", Changes: []modules.Change{change("default", "none", "de_AT.UTF-8")},
		},
		{
			Name: "of a package that is missing", Tree: other(), Properties: with(`"name":"de_AT.UTF-8"`),
			Err: "this host has no locale de_AT.UTF-8, and no program locale-gen; install the package of the locale: locales on Debian, glibc-langpack-de on Fedora",
		},
		{Name: "of a package that shall go", Tree: other(austria), Properties: with(`"name":"de_AT.UTF-8","ensure":"absent"`), Err: "this host has no locale-gen, so de_AT.UTF-8 belongs to a package; remove the package"},
	})...)
}

func TestPredicts(t *testing.T) {
	step := func(properties string) modtest.Step {
		return modtest.Step{Type: "locale", Properties: with(properties)}
	}
	modtest.Predicts(t, modules.Registry{modtest.Rooted(Type()), file.Type(), link.Type()}, modtest.Scenario{
		Tree: debian(),
		Steps: []modtest.Step{
			step(`"name":"de_AT.UTF-8","default":true`),
			step(`"name":"de_AT.utf8","default":true`),
			step(`"name":"fr_FR.UTF-8","default":true`),
			step(`"name":"de_AT.UTF-8","default":true`),
			step(`"name":"fr_FR.UTF-8","ensure":"absent"`),
			step(`"name":"fr_FR.UTF-8"`),
			{Type: "file", Properties: `{"name":"$ROOT/etc/default/locale","content":"LANG=C\n","mode":"0644"}`},
			step(`"name":"fr_FR.UTF-8","default":true`),
		},
		Want: []string{"changed", "stable", "changed", "changed", "changed", "changed", "changed", "changed"},
	})
}

func TestReversal(t *testing.T) {
	for name, more := range map[string][]modtest.Node{
		"nothing": {}, "all": {{Path: "etc/locale.gen", Text: "# de_AT.UTF-8 UTF-8\n"}, {Path: "etc/default/locale", Text: "LANG=C\n"}},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			modtest.Build(t, root, debian(more...))
			modtest.Undone(t, root, modtest.In(root, &Locale{Name: "de_AT.UTF-8", Ensure: present}), modtest.In(root, &Locale{Name: "de_AT.UTF-8", Ensure: present, Default: true}))
		})
	}
}

// TestBothNames uses a locale whose name lacks its character set, and which then has both names.
func TestBothNames(t *testing.T) {
	root := t.TempDir()
	modtest.Build(t, root, debian(modtest.Node{Path: "etc/locale.gen", Text: "# none\n"}))
	for _, name := range []string{"de_AT", "de_DE@euro"} {
		modtest.Undone(t, root, modtest.In(root, &Locale{Name: name, Ensure: present}))
	}
}

func TestSpelling(t *testing.T) {
	for name, want := range map[string]string{"de_DE.UTF-8": "de_DE.utf8", "de_DE": "de_DE", "de_DE@euro": "de_DE@euro", "uz_UZ.UTF-8@cyrillic": "uz_UZ.utf8@cyrillic", "ja_JP.eucJP": "ja_JP.eucjp", "C": "C", "en_US.ISO-8859-1": "en_US.iso88591"} {
		require.Equal(t, want, spelling(name))
		require.Equal(t, want, spelling(want))
	}
}

func TestValidate(t *testing.T) {
	modtest.Validates(t, []modtest.Verdict[Locale]{
		{Of: Locale{Name: "de_AT.UTF-8", Default: true}},
		{Of: Locale{Name: "POSIX"}},
		{Of: Locale{Name: "de_AT.UTF-8 UTF-8"}, Err: "name: this is not a locale (write its name alone, such as de_DE.UTF-8)"},
		{Of: Locale{Name: "../x"}, Err: "name: this is not a locale (write its name alone, such as de_DE.UTF-8)"},
		{Of: Locale{Name: "de_AT", Ensure: absent, Default: true}, Err: "default: a locale that is absent is not the default one"},
	})
}

func TestDescribe(t *testing.T) {
	root := t.TempDir()
	modtest.Build(t, root, debian(modtest.Node{Path: "usr/lib/locale/de_AT.utf8", Text: "x"}, modtest.Node{Path: "etc/default/locale", Text: "LANG=de_AT.UTF-8\n"}))
	for name, want := range map[string]string{"de_AT.UTF-8": `{"ensure":"present","name":"de_AT.UTF-8","default":true}`, "fr_FR.UTF-8": `{"ensure":"absent","name":"fr_FR.UTF-8"}`} {
		modtest.Describes(t, modtest.RootedHost(root, modtest.Host()), &Locale{Name: name}, want)
	}
}
