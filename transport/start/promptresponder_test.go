package start

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/transport"
)

// prompted feeds a prompt responder with the output of a host, piece by piece, and returns its reaction to each: "."
// nothing, "a" the answer, "x" giving up.
func prompted(a *promptResponder, withPassword bool, pieces ...string) string {
	var did strings.Builder
	done := ""
	a.refuse = func() { done += "x" }
	if withPassword {
		a.answer = func() { done += "a" }
	}
	for _, p := range pieces {
		done = ""
		a.Write([]byte(p))
		if done == "" {
			done = "."
		}
		did.WriteString(done)
	}
	return did.String()
}

func TestPromptResponder(t *testing.T) {
	secret := transport.NewSecret([]byte("pw"))
	su, doas := &Become{Method: "su", Password: secret}, &Become{Method: "doas", Password: secret}
	sudo := &Become{Password: secret}
	for _, test := range []struct {
		name   string
		become *Become
		pieces []string
		want   string
	}{
		{"sudo asks", sudo, []string{"We trust you.\n", "N1234567%:"}, ".a"},
		{"sudo asks in pieces", sudo, []string{"N123", "4567%", ":"}, "..a"},
		{"sudo asks again", sudo, []string{"N1234567%:", "\nSorry, try again.\nN1234567%:"}, "ax"},
		{"sudo asks twice at once", sudo, []string{"N1234567%:N1234567%:N1234567%:"}, "ax"},
		{"a shell that prints what it runs is not sudo", sudo, []string{"+ sudo -S -p owner=%p:N1234567%%: -H -u root\n", "Password: "}, ".."},
		{"su asks", su, []string{"become-N1234567\n", "Password: "}, ".a"},
		{"su asks in one piece", su, []string{"hi\nbecome-N1234567\r\nPassword: "}, "a"},
		{"su asks in French", su, []string{"become-N1234567\nMot de passe : "}, "a"},
		{"su asks in French, with its own blank", su, []string{"become-N1234567\nMot de passe\u00a0:\u00a0"}, "a"},
		{"su asks in Chinese", su, []string{"become-N1234567\n密码："}, "a"},
		{"doas asks", doas, []string{"become-N1234567\n", "\rdoas (deploy@h001) password: "}, ".a"},
		{"nothing is answered before the announcement", su, []string{"Password: ", "+ sh -c ... become- N1234567 su root\nPassword: ", "become-N123"}, "..."},
		{"nor a line that ends", su, []string{"become-N1234567\nNote:\n", "Password: "}, ".a"},
		{"the name of who complains is no prompt", su, []string{"become-N1234567\n", "su: ", "Authentication failure\n"}, "..."},
		{"nor is that of env", su, []string{"become-N1234567\n/usr/bin/env: ", "'su': No such file"}, ".."},
		{"su asks for a new one", su, []string{"become-N1234567\nPassword: ", "\nNew password: "}, "ax"},
		{"nothing asks behind the first word of the script", su, []string{"become-N1234567\n", "beg", "an-N1234567\n", "Password:"}, "...."},
		{"nor sudo", sudo, []string{"began-N1234567\nN1234567%:", "N1234567%:"}, ".."},
		{"nor what has been answered", sudo, []string{"N1234567%:", "\nbegan-N1234567\n", "N1234567%:"}, "a.."},
		{"much noise", su, []string{strings.Repeat("noise\n", 10000), "become-N1234567\n" + strings.Repeat("noise\n", 10000), "Password: "}, "..a"},
	} {
		t.Run(test.name, func(t *testing.T) {
			require.Equal(t, test.want, prompted(newPromptResponder(test.become, "N1234567"), true, test.pieces...))
		})
	}
}

func TestPromptResponderWithoutAPassword(t *testing.T) {
	require.Nil(t, newPromptResponder(nil, "N1234567"))
	require.Nil(t, newPromptResponder(&Become{}, "N1234567"), "sudo -n asks nothing")
	require.Nil(t, newPromptResponder(&Become{Method: "doas"}, "N1234567"), "nor does doas -n")
	a := newPromptResponder(&Become{Method: "su"}, "N1234567")
	require.Equal(t, ".x.", prompted(a, false, "become-N1234567\n", "Password: ", "Password: "))
	prompts, _, refused := a.asked()
	require.Equal(t, 1, prompts)
	require.True(t, refused)
}

func TestPromptResponderEnds(t *testing.T) {
	a := newPromptResponder(&Become{Password: transport.NewSecret([]byte("pw"))}, "N1234567")
	a.end()
	require.Equal(t, ".", prompted(a, true, "N1234567%:"))
	prompts, _, refused := a.asked()
	require.Zero(t, prompts)
	require.False(t, refused)
}

// FuzzPromptResponder lets a host print anything: the password is sent at most once, and never before the announcement
// of the method or its prompt.
func FuzzPromptResponder(f *testing.F) {
	f.Add("become-N1234567\nPassword: ", 3)
	f.Add("N1234567%:Sorry.\nN1234567%:", 5)
	f.Add("become-N1234567\nbegan-N1234567\nPassword: N1234567%:", 100)
	f.Fuzz(func(t *testing.T, text string, size int) {
		size = max(1, size%64)
		for _, method := range Methods {
			a := newPromptResponder(&Become{Method: method, Password: transport.NewSecret([]byte("pw"))}, "N1234567")
			var pieces []string
			for rest := text; rest != ""; {
				n := min(size, len(rest))
				pieces, rest = append(pieces, rest[:n]), rest[n:]
			}
			did := prompted(a, true, pieces...)
			require.LessOrEqual(t, strings.Count(did, "a"), 1)
			require.LessOrEqual(t, strings.Count(did, "x"), 1)
			begin := "become-N1234567"
			if method == "sudo" {
				begin = "N1234567%:"
			}
			before, _, _ := strings.Cut(text, "began-N1234567")
			if !strings.Contains(before, begin) {
				require.NotContains(t, did, "a")
			}
		}
	})
}

// TestOwnerOfThePrompt reads which account sudo names in its prompt, also of a sudo that does not know %p.
func TestOwnerOfThePrompt(t *testing.T) {
	for said, want := range map[string]string{
		"owner=root:N1234567%:": "root", "Hello\nowner=app-1:N1234567%:": "app-1", "N1234567%:": "", "owner=%p:N1234567%:": "", "owner=a b:N1234567%:": "", "owner=\x1b[2J:N1234567%:": "",
	} {
		a := newPromptResponder(&Become{Password: transport.NewSecret([]byte("pw"))}, "N1234567")
		require.Equal(t, "a", prompted(a, true, said), said)
		prompts, owner, refused := a.asked()
		require.Equal(t, 1, prompts)
		require.Equal(t, want, owner, said)
		require.False(t, refused)
		require.Equal(t, "Hi: ", withoutPrompts("Hi: "+said[strings.LastIndexByte(said, '\n')+1:], "N1234567", ""))
	}
}
