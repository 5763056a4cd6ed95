package outcomes

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"syscall"

	"github.com/ccm-push/ccm-push/e2e/faultproxy"
)

// Generate returns the case of a seed. The same seed gives the same case.
func Generate(seed uint64) *Case {
	g := &generator{Rand: rand.New(rand.NewPCG(seed, 0x6f7574636f6d6573))}
	c := &Case{Seed: seed}
	for i := range g.pick(2, 3, 3, 4) {
		c.Hosts = append(c.Hosts, fmt.Sprintf("h%d", i+1))
	}
	for range g.pick(1, 1, 2) {
		c.Plays = append(c.Plays, g.play(c))
	}
	c.Calls = g.calls(c)
	return c
}

type generator struct {
	*rand.Rand
	resources int
}

// percent reports true so often.
func (g *generator) percent(n int) bool { return g.IntN(100) < n }

func (g *generator) pick(of ...int) int { return of[g.IntN(len(of))] }

func (g *generator) play(c *Case) Play {
	p := Play{Name: fmt.Sprintf("p%d", len(c.Plays)+1), Hosts: c.Hosts}
	if g.percent(20) {
		p.Hosts = c.Hosts[:1+g.IntN(len(c.Hosts))]
	}
	p.Graph = g.percent(30)
	switch n := g.IntN(100); {
	case n < 22:
		p.Serial = g.pick(1, 1, 2)
	case n < 37:
		p.Unavailable = g.pick(1, 1, 2)
	}
	p.FailOnError = g.percent(25)
	var earlier []Resource
	for range g.pick(3, 4, 5, 6) {
		if g.percent(18) {
			p.Items = append(p.Items, Item{Block: g.block(c, p)})
			continue
		}
		r := g.resource(c, p, earlier, false)
		p.Items = append(p.Items, Item{Resource: &r})
		earlier = append(earlier, r)
		if r.Register {
			uses := g.named(Resource{Kind: File, Uses: r.Name})
			p.Items = append(p.Items, Item{Resource: &uses})
		}
	}
	return p
}

func (g *generator) named(r Resource) Resource {
	g.resources++
	r.Name = fmt.Sprintf("%c%d", r.Kind[0], g.resources)
	return r
}

func (g *generator) block(c *Case, p Play) *Block {
	g.resources++
	b := &Block{Name: fmt.Sprintf("b%d", g.resources)}
	list := func(n int) (all []Resource) {
		for range n {
			all = append(all, g.resource(c, p, all, true))
		}
		return all
	}
	b.Main = list(g.pick(1, 2, 3))
	if g.percent(30) {
		b.Main[g.IntN(len(b.Main))] = g.named(Resource{Kind: Exec, Fails: true, Millis: g.millis()})
		for i := range b.Main { // what stood here may have been required by others
			b.Main[i].Require, b.Main[i].Subscribe, b.Main[i].RefreshOnly = nil, "", false
		}
	}
	if g.percent(70) {
		b.Rescue = list(g.pick(1, 1, 2))
	}
	if g.percent(50) {
		b.Always = list(1)
	}
	return b
}

func (g *generator) millis() int {
	switch n := g.IntN(10); {
	case n < 4:
		return 0
	case n < 8:
		return 50 + g.IntN(150)
	}
	return 200 + g.IntN(500)
}

func (g *generator) resource(c *Case, p Play, earlier []Resource, inBlock bool) Resource {
	var r Resource
	switch n := g.IntN(100); {
	case n < 22:
		r = Resource{Kind: File, Existed: g.percent(40)}
	case n < 27:
		r = Resource{Kind: Absent, Existed: true}
	case n < 35:
		r = Resource{Kind: Line}
	default:
		r = g.exec(c, p, earlier, inBlock)
	}
	if len(earlier) > 0 && r.Subscribe == "" && g.percent(20) {
		r.Require = []string{earlier[g.IntN(len(earlier))].Name}
	}
	return g.named(r)
}

func (g *generator) exec(c *Case, p Play, earlier []Resource, inBlock bool) Resource {
	r := Resource{Kind: Exec, Millis: g.millis()}
	switch n := g.IntN(100); {
	case n < 34:
		r.Rerun = g.resources%6 == 5
	case n < 42:
		r.Fails = true
	case n < 52:
		r.Creates = true
	case n < 62:
		if len(earlier) > 0 {
			r.RefreshOnly, r.Subscribe = true, earlier[g.IntN(len(earlier))].Name
		}
	case n < 72:
		r.Once = p.Unavailable == 0 // which has no batches of hosts that begin at once
	case n < 80:
		r.On = append(slices.Clone(c.Hosts), Controller)[g.IntN(len(c.Hosts)+1)]
		if p.Unavailable > 0 { // hosts of a rollout run nothing for each other
			r.On = Controller
		}
	case n < 91:
		r.Sema, r.Slots = "db", 1
		if g.percent(25) {
			r.Sema, r.Slots = "door", 2
		}
		r.Timeout = g.pick(0, 2)
		r.Millis = 100 + g.IntN(300)
	case n < 96:
		r.Each = 2 + g.IntN(2)
	default:
		r.Register = !p.Graph && !inBlock
	}
	return r
}

func (g *generator) calls(c *Case) []Call {
	args := []string{"--idle-timeout", "2s", "--reconnect", fmt.Sprint(g.pick(0, 3, 3, 3), "s")}
	calls := []Call{{Do: "run", Args: args}}
	for range g.pick(0, 0, 0, 1, 1, 2, 3) {
		if g.percent(25) {
			calls = append(calls, Call{Do: "undo"})
			if g.percent(30) { // it must not apply again what was undone
				calls = append(calls, Call{Do: "resume"})
			}
			break
		}
		calls = append(calls, Call{Do: "resume"})
	}
	for i := range calls {
		often := 30
		if i == 0 {
			often = 92
		}
		for n := 0; n < 3 && g.percent(often); n++ {
			calls[i].Faults = append(calls[i].Faults, g.fault(c))
			often = 35
		}
	}
	return calls
}

func (g *generator) fault(c *Case) Fault {
	f := Fault{Host: c.Hosts[g.IntN(len(c.Hosts))]}
	if g.percent(80) {
		f.Line = 1 + g.IntN(8)
		f.Delay = g.pick(0, 0, 10, 40, 120)
	} else {
		f.Delay = 100 + g.IntN(900)
	}
	deadly := func() { f.Signal = int([]syscall.Signal{syscall.SIGKILL, syscall.SIGKILL, syscall.SIGTERM}[g.IntN(3)]) }
	switch n := g.IntN(100); {
	case n < 18:
		f.Kind, f.Millis = CutLink, g.pick(0, 300, 1000, 5000)
	case n < 32:
		f.Kind, f.Connection = Packet, g.pick(0, 0, 0, 1)
		f.Link = faultproxy.Fault{Kind: faultproxy.Kinds[g.IntN(len(faultproxy.Kinds))], Direction: faultproxy.Direction(g.IntN(2)), Packets: 6 + g.IntN(30), Bytes: int64(g.IntN(40))}
	case n < 48:
		f.Kind = KillProgram
		deadly()
	case n < 58:
		f.Kind = KillSession
		deadly()
	case n < 78:
		f.Kind = KillControl
		deadly()
	case n < 84:
		f.Kind, f.Twice = Interrupt, g.percent(40)
	case n < 88:
		f.Kind, f.Millis = FullNotes, g.pick(300, 2000)
	case n < 92:
		f.Kind, f.Millis = FullTree, g.pick(300, 2000)
	default:
		f.Kind, f.Millis = Reboot, g.pick(0, 300, 1000)
	}
	return f
}
