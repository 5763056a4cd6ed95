package manual_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/cmd/ccm-push/manual"
	"github.com/ccm-push/ccm-push/e2e/needs"
)

// program returns a command with everything that a page can have, and texts with characters that are markup in other
// formats.
func program() *cobra.Command {
	run := func(*cobra.Command, []string) {}
	root := &cobra.Command{
		Use: "ship [flags] PORT\n  ship [flags] 'web*'", Short: "sail", Run: run, Version: "1",
		Long: `Sails to web* and ~/.ssh, with <what> _is_ 'there'
and "quoted".

  $ ship --fast

    .hidden \n | [x](y)

.Dot at the beginning costs $5 or $6.`,
		Example: "  ship 'web*'\n  ship --knots 5",
	}
	root.Flags().IntP("knots", "k", 3, "how `many|few` of *them*")
	root.Flags().Bool("secret", false, "")
	_ = root.Flags().MarkHidden("secret")
	root.Flags().String("diff", "", "said shortly")
	root.Flags().Lookup("diff").NoOptDefVal = "x"
	root.PersistentFlags().String("port", "hull", "where to (default hull)")
	deck := &cobra.Command{Use: "deck", Short: "swab the deck", Run: run}
	deck.AddCommand(&cobra.Command{Use: "mop [flags]", Short: "show the mop", Run: run})
	root.AddCommand(deck, &cobra.Command{Use: "stars", Short: "how to find them", Long: "Look up."}, &cobra.Command{Use: "old", Short: "gone", Run: run, Hidden: true})
	root.CompletionOptions.DisableDefaultCmd = true
	return root
}

func TestPages(t *testing.T) {
	var names []string
	for _, p := range manual.Pages(program()) {
		names = append(names, p.Name())
	}
	require.Equal(t, []string{"ship", "ship-deck", "ship-deck-mop", "ship-stars"}, names)
}

func TestMarkdown(t *testing.T) {
	pages := manual.Pages(program())
	require.Equal(t, "# ship\n\n<!-- Made of the program by `make reference`. -->\n"+`
`+"```"+`
ship [flags] PORT
ship [flags] 'web*'
`+"```"+`

Sails to web\* and \~/.ssh, with \<what> _is_ 'there'
and "quoted".

`+"```"+`
$ ship --fast

  .hidden \n | [x](y)
`+"```"+`

.Dot at the beginning costs \$5 or \$6.

## Commands

| | |
|---|---|
| [deck](ship-deck.md) | swab the deck |

## Topics

| | |
|---|---|
| [stars](ship-stars.md) | how to find them |

## Flags

| flag | |
|---|---|
| `+"`--diff`"+` | said shortly |
| `+"`-h`, `--help`"+` | help for ship |
| `+"`-k`, `--knots`"+` many\|few | how many\|few of \*them\* (default 3) |
| `+"`--port`"+` string | where to (default hull) |
| `+"`-v`, `--version`"+` | version for ship |

## Examples

`+"```sh"+`
ship 'web*'
ship --knots 5
`+"```"+`
`, pages[0].Markdown())
	require.Contains(t, pages[1].Markdown(), "\nSwab the deck.\n")
	require.Contains(t, pages[1].Markdown(), "\nSee also [ship](ship.md), for the flags of all commands.\n")
	require.Contains(t, pages[2].Markdown(), "\nSee also [ship deck](ship-deck.md).\n")
	require.Equal(t, "# ship help stars\n\n<!-- Made of the program by `make reference`. -->\n\nLook up.\n\nSee also [ship](ship.md).\n", pages[3].Markdown())
}

func TestMan(t *testing.T) {
	pages := manual.Pages(program())
	require.Equal(t, `.TH "SHIP\-STARS" "7" "2026-01-02" "ship 1.2" "ship manual"
.nh
.ad l
.SH NAME
ship\-stars \- how to find them
.SH DESCRIPTION
Look up.
.SH SEE ALSO
\fBship\fR(1)
`, pages[3].Man(manual.Edition{Date: "2026-01-02", Version: "1.2"}))
	shown := groff(t, pages[0].Man(manual.Edition{Version: "1.2"}))
	for _, line := range []string{
		"       ship [flags] 'web*'\n",
		"       Sails to web* and ~/.ssh, with <what> _is_ 'there' and \"quoted\".\n",
		"           $ ship --fast\n\n             .hidden \\n | [x](y)\n",
		"       .Dot at the beginning costs $5 or $6.\n",
		"COMMANDS\n       ship-deck(1)\n              swab the deck\n",
		"TOPICS\n       ship-stars(7)\n              how to find them\n",
		"       -k, --knots many|few\n              how many|few of *them* (default 3)\n",
		"       --diff said shortly\n",
		"EXAMPLES\n           ship 'web*'\n           ship --knots 5\n",
	} {
		require.Contains(t, shown, line)
	}
	require.NotContains(t, shown, "secret")
}

// groff is a page as people read it. It must say nothing about the page.
func groff(t *testing.T, page string) string {
	t.Helper()
	program := needs.Program(t, "groff")
	path := filepath.Join(t.TempDir(), "page.1")
	require.NoError(t, os.WriteFile(path, []byte(page), 0o600))
	out, err := exec.CommandContext(t.Context(), program, "-man", "-Kutf8", "-Tascii", "-P-cbou", "-ww", path).CombinedOutput()
	require.NoError(t, err)
	return string(out)
}
