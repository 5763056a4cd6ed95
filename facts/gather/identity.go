package gather

import (
	"context"
	"encoding/binary"
	"net/netip"
	"os"
	"strconv"
	"strings"
)

// identityTree describes the name of the host, and the user that runs the host program.
type identityTree struct {
	FQDN string      `json:"fqdn"` // the output of hostname --fqdn; the host name if it fails
	User accountTree `json:"user"`
}

// accountTree is an entry of the user database.
type accountTree struct {
	Name    string `json:"name"`
	UID     int    `json:"uid"`
	GID     int    `json:"gid"`
	Comment string `json:"comment"` // the GECOS field
	Home    string `json:"home"`
	Shell   string `json:"shell"`
}

// identityFacts starts two programs, so it is a collector of its own.
func identityFacts(ctx context.Context) (any, error) {
	var tree identityTree
	fqdn, err := commandOf(ctx, "hostname", "--fqdn")
	if tree.FQDN = fqdn.Stdout; err != nil || fqdn.Code != 0 || tree.FQDN == "" {
		if tree.FQDN, err = os.Hostname(); err != nil {
			return nil, err
		}
	}
	tree.User = accountTree{UID: os.Getuid(), GID: os.Getgid()}
	found, err := entryOf(ctx, []string{"passwd", strconv.Itoa(os.Getuid())})
	if err != nil {
		return tree, err
	}
	if entry, ok := found.(entryAnswer); ok && len(entry.Fields) == 7 {
		f := entry.Fields
		tree.User.Name, tree.User.Comment, tree.User.Home, tree.User.Shell = f[0], f[4], f[5], f[6]
	}
	return tree, nil
}

// defaultRoute returns the interface and the gateway of the IPv4 default route with the lowest metric, from the text of /proc/net/route. Both
// are empty if the host has no such route; the gateway of a tunnel is empty.
func defaultRoute(text string) (device, gateway string) {
	least := -1
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) < 8 || f[1] != "00000000" || f[7] != "00000000" {
			continue
		}
		metric, err := strconv.Atoi(f[6])
		if err != nil || least >= 0 && metric >= least {
			continue
		}
		hop, err := strconv.ParseUint(f[2], 16, 32)
		if err != nil {
			continue
		}
		least, device, gateway = metric, f[0], ""
		if hop != 0 {
			var bytes [4]byte // the kernel prints the address as a number of the machine
			binary.NativeEndian.PutUint32(bytes[:], uint32(hop))
			gateway = netip.AddrFrom4(bytes).String()
		}
	}
	return device, gateway
}
