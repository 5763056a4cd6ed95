package main

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTheThirdSignalWaitsForNothing(t *testing.T) {
	// The program waits for ever: nobody writes to what it reads as inventory.
	in, out, err := os.Pipe()
	require.NoError(t, err)
	defer in.Close()
	defer out.Close()
	var stderr bytes.Buffer
	a := newApp(strings.NewReader(""), new(bytes.Buffer), &stderr, nil)
	signals := make(chan os.Signal, 3)
	for range 3 {
		signals <- os.Interrupt
	}
	err = supervise(t.Context(), a, []string{"-i", fmt.Sprintf("/dev/fd/%d", in.Fd()), "--list-hosts", "all"}, signals)
	require.Equal(t, exitStatus(interruptedStatus), err)
	require.Equal(t, "ccm-push: stopping after the resources that are running; once more to kill them\n"+
		"ccm-push: killing what is running on the hosts\n", stderr.String())
}
