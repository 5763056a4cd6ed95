package auth

import (
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/ssh"

	"github.com/ccm-push/ccm-push/transport/sshtest"
)

func TestOrderOfCandidates(t *testing.T) {
	signers := map[string]ssh.Signer{}
	for _, n := range []string{"a", "b", "c", "d", "e", "f", "g", "h"} {
		signers[n] = sshtest.NewKey(t, "ed25519")
	}
	candidatesOf := func(names string) (list []candidate) {
		for _, n := range names {
			list = append(list, newCandidate("agent "+string(n), signers[string(n)]))
		}
		return list
	}
	file := func(name string) keyFile {
		return keyFile{name: name, signer: signers[name], public: signers[name].PublicKey()}
	}
	locked := func(name string) keyFile {
		return keyFile{name: name, public: signers[name].PublicKey(), remark: name + " is encrypted"}
	}
	for _, test := range []struct {
		name     string
		files    []keyFile
		explicit bool
		only     bool
		agent    string
		last     string
		want     []string
		remarks  []string
	}{
		{name: "nothing"},
		{name: "agent before default files", files: []keyFile{file("a")}, agent: "bc", want: []string{"agent b", "agent c", "a"}},
		{name: "explicit files before the agent", files: []keyFile{file("a"), file("b")}, explicit: true, agent: "c", want: []string{"a", "b", "agent c"}},
		{name: "nothing twice", files: []keyFile{file("a")}, explicit: true, agent: "ab", want: []string{"a", "agent b"}},
		{name: "an encrypted file by the agent", files: []keyFile{locked("b"), file("a")}, explicit: true, agent: "cb", want: []string{"agent b", "a", "agent c"}},
		{name: "an encrypted file", files: []keyFile{locked("b"), file("a")}, explicit: true, want: []string{"a"}, remarks: []string{"b is encrypted"}},
		{name: "the last one first", files: []keyFile{file("a")}, agent: "bc", last: "c", want: []string{"agent c", "agent b", "a"}},
		{name: "only the files", files: []keyFile{file("a"), locked("c")}, explicit: true, only: true, agent: "bcd", want: []string{"a", "agent c"}},
		{name: "only the default files", files: []keyFile{file("a")}, only: true, agent: "bad", want: []string{"agent a"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			last := ""
			if test.last != "" {
				last = string(signers[test.last].PublicKey().Marshal())
			}
			got, remarks := sources{files: test.files, agent: candidatesOf(test.agent), explicit: test.explicit, only: test.only, last: last}.candidates()
			var names []string
			for _, c := range got {
				names = append(names, c.name)
			}
			require.Equal(t, test.want, names)
			require.Equal(t, test.remarks, remarks)
		})
	}
}
