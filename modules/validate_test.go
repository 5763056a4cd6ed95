package modules_test

import (
	"io/fs"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
)

func modes() map[string]fs.FileMode {
	return map[string]fs.FileMode{
		"0644": 0o644, "644": 0o644, "0o644": 0o644, "0O644": 0o644, "0o0644": 0o644,
		"000": 0, "0000": 0, "0777": 0o777, "777": 0o777, "0400": 0o400,
	}
}

func notModes() map[string]string {
	return map[string]string{
		"4755":      `mode "4755" exceeds maximum value 0777`,
		"1777":      `mode "1777" exceeds maximum value 0777`,
		"0888":      `mode "0888" has a digit outside 0-7`,
		"rw-r--r--": `mode "rw-r--r--" is not an octal number`,
		"u=rw":      `mode "u=rw" is not an octal number`,
		"-644":      `mode "-644" is not an octal number`,
		"0x1ff":     `mode "0x1ff" is not an octal number`,
		"64":        `mode "64" does not have three or four digits`,
		"00644":     `mode "00644" does not have three or four digits`,
		"0o":        `mode "0o" is not an octal number`,
		"0o0o644":   `mode "0o0o644" is not an octal number`,
		"":          `mode "" does not have three or four digits`,
	}
}

func TestParseFullMode(t *testing.T) {
	for text, want := range modes() {
		got, exact, err := modules.ParseFullMode(text)
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
		require.False(t, exact, text)
	}
	for text, want := range map[string]string{
		"4755": "4755", "0o2775": "2775", "1777": "1777", "7777": "7777", "00755": "0755", "02755": "2755",
	} {
		got, exact, err := modules.ParseFullMode(text)
		require.NoError(t, err, text)
		require.Equal(t, want, modules.FormatMode(got))
		require.True(t, exact, text)
	}
	for text, want := range map[string]string{
		"14755":  `mode "14755" exceeds maximum value 7777`,
		"8755":   `mode "8755" has a digit outside 0-7`,
		"004755": `mode "004755" does not have three or four digits`,
	} {
		_, _, err := modules.ParseFullMode(text)
		require.ErrorContains(t, err, want)
	}
}

func TestParseMode(t *testing.T) {
	for text, want := range modes() {
		got, err := modules.ParseMode(text)
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
	}
	for text, want := range notModes() {
		_, err := modules.ParseMode(text)
		require.EqualError(t, err, "mode: "+want+" ("+`write an octal string such as mode: "0644"`+")", text)
	}
}

func FuzzParseMode(f *testing.F) {
	for text := range modes() {
		f.Add(text)
	}
	for text := range notModes() {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		full, _, fullErr := modules.ParseFullMode(text)
		if fullErr == nil {
			again, exact, err := modules.ParseFullMode(modules.FormatMode(full))
			require.NoError(t, err)
			require.Equal(t, full, again)
			require.Equal(t, full.Perm() != full, exact)
		}
		mode, err := modules.ParseMode(text)
		if err != nil {
			return
		}
		require.NoError(t, fullErr)
		require.Equal(t, full, mode)
		require.Equal(t, mode, mode.Perm())
		again, err := modules.ParseMode(modules.FormatMode(mode))
		require.NoError(t, err)
		require.Equal(t, mode, again)
	})
}

func TestFormatMode(t *testing.T) {
	require.Equal(t, "0000", modules.FormatMode(0))
	require.Equal(t, "0640", modules.FormatMode(0o640))
	require.Equal(t, "6755", modules.FormatMode(0o755|fs.ModeSetuid|fs.ModeSetgid))
	require.Equal(t, "1777", modules.FormatMode(0o777|fs.ModeSticky))
}
