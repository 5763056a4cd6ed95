package sops

import (
	"errors"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
)

const encrypted = `password: ENC[AES256_GCM,data:x,iv:y,tag:z,type:str]
sops:
    age:
        - recipient: age1
    lastmodified: "2026-01-01T00:00:00Z"
    mac: ENC[AES256_GCM,data:x,iv:y,tag:z,type:str]
    version: 3.9.0
`

func TestIsFile(t *testing.T) {
	var s Scheme
	require.True(t, s.IsFile([]byte(encrypted)))
	require.True(t, s.IsFile([]byte(`{"a": "ENC[x]", "sops": {"mac": "ENC[x]"}}`)))
	for _, other := range []string{"", "sops: 1\n", "sops:\n  mac: 1\n", `{"sops": {}}`, `{"sops"`, "a:\n  sops:\n    mac: ENC[x]\n"} {
		require.False(t, s.IsFile([]byte(other)), other)
	}
}

func TestOpenFile(t *testing.T) {
	var argv []string
	var fails error
	s := Scheme{Run: func(got []string, input []byte) ([]byte, error) {
		argv = got
		require.Equal(t, encrypted, string(input))
		return []byte("password: x\n"), fails
	}}
	text, err := s.OpenFile("a.yaml", []byte(encrypted))
	require.NoError(t, err)
	require.Equal(t, "password: x\n", string(text))
	require.Equal(t, []string{"sops", "--decrypt", "--input-type", "yaml", "--output-type", "yaml", "/dev/stdin"}, argv)

	fails = &exec.Error{Name: "sops", Err: exec.ErrNotFound}
	_, err = s.OpenFile("a.yaml", []byte(encrypted))
	require.EqualError(t, err, "a.yaml:1:1: the file is encrypted by sops, but sops is not installed\n  hint: install sops, or encrypt the file otherwise: ccm-push secret --help")
	fails = &exec.ExitError{Stderr: []byte("first\nno key\n")}
	_, err = s.OpenFile("a.yaml", []byte(encrypted))
	require.EqualError(t, err, "a.yaml:1:1: the file is encrypted by sops, and sops cannot decrypt it: no key\n  hint: for the full error run: sops -d a.yaml")
	fails = errors.New("odd")
	_, err = s.OpenFile("a.yaml", []byte(encrypted))
	require.ErrorContains(t, err, "sops cannot decrypt it: odd")
}
