package graph

import (
	"cmp"
	"slices"
	"unicode/utf8"
)

// A layout is where the parts of a drawing are, in pixels. Each level is a column;
// an edge over several levels has a point in each of them.
type layout struct {
	points  []point // those of the vertices first
	columns [][]int // the points of each level, from above
	lines   []line
	width   int
	height  int
}

type point struct {
	vertex        int // -1 on the way of an edge
	column        int
	x, y          int // of the middle of the left side
	width, height int
}

// A line is an edge and the points that it leads over.
type line struct {
	edge   int
	points []int
}

// Measures, in pixels.
const (
	margin     = 24
	headHeight = 48
	boxHeight  = 40
	rowGap     = 14
	columnGap  = 96
	letter     = 7 // about the width of one, at 13 pixels of height
	boxPadding = 24
	minBox     = 90
	maxLetters = 44
	wayHeight  = 8
	// sweeps is how often the order in the columns is improved, in each direction.
	sweeps = 12
	// maxWays bounds the points on the ways of edges: beyond it they lead straight.
	maxWays = 200_000
)

// lay makes the layout of a graph.
func lay(g *Graph) *layout {
	l := &layout{}
	depth := 0
	for i := range g.Vertices {
		l.points = append(l.points, point{vertex: i, column: g.Level[i], width: boxWidth(&g.Vertices[i], g.Called(i)), height: boxHeight})
		depth = max(depth, g.Level[i]+1)
	}
	l.columns = make([][]int, depth)
	for _, i := range g.Order {
		l.columns[g.Level[i]] = append(l.columns[g.Level[i]], i)
	}
	l.connect(g)
	l.untangle()
	l.place()
	return l
}

func boxWidth(v *Vertex, called string) int {
	kind, name := label(v, called)
	letters := max(utf8.RuneCountInString(kind), utf8.RuneCountInString(name))
	return max(minBox, letters*letter+boxPadding)
}

// connect makes the lines of the edges.
func (l *layout) connect(g *Graph) {
	for n, e := range g.Edges {
		from, to := g.Level[e.From], g.Level[e.To]
		one := line{edge: n, points: []int{e.From}}
		for column := from + 1; column < to && len(l.points) < len(g.Vertices)+maxWays; column++ {
			one.points = append(one.points, len(l.points))
			l.columns[column] = append(l.columns[column], len(l.points))
			l.points = append(l.points, point{vertex: -1, column: column, height: wayHeight})
		}
		one.points = append(one.points, e.To)
		l.lines = append(l.lines, one)
	}
}

// untangle sorts each column by the mean place of the neighbours in the column
// before, and then in the one behind, again and again, and keeps what crosses
// least (Sugiyama, Tagawa and Toda, 1981).
func (l *layout) untangle() {
	left, right := make([][]int, len(l.points)), make([][]int, len(l.points))
	for _, one := range l.lines {
		for k := 1; k < len(one.points); k++ {
			a, z := one.points[k-1], one.points[k]
			if l.points[a].column < l.points[z].column {
				left[z], right[a] = append(left[z], a), append(right[a], z)
			}
		}
	}
	rank := make([]float64, len(l.points))
	note := func(column []int) {
		for place, p := range column {
			rank[p] = float64(place) - float64(len(column))/2
		}
	}
	for _, column := range l.columns {
		note(column)
	}
	sorted := func(column []int, of [][]int) {
		mean := make(map[int]float64, len(column))
		for _, p := range column {
			mean[p] = rank[p]
			if len(of[p]) > 0 {
				sum := 0.0
				for _, other := range of[p] {
					sum += rank[other]
				}
				mean[p] = sum / float64(len(of[p]))
			}
		}
		slices.SortStableFunc(column, func(a, z int) int { return cmp.Compare(mean[a], mean[z]) })
		note(column)
	}
	best, fewest := clone(l.columns), l.crossings(right)
	for range sweeps {
		for c := 1; c < len(l.columns); c++ {
			sorted(l.columns[c], left)
		}
		for c := len(l.columns) - 2; c >= 0; c-- {
			sorted(l.columns[c], right)
		}
		if n := l.crossings(right); n < fewest {
			best, fewest = clone(l.columns), n
		}
	}
	l.columns = best
}

func clone(columns [][]int) [][]int {
	all := make([][]int, len(columns))
	for i, column := range columns {
		all[i] = slices.Clone(column)
	}
	return all
}

// crossings counts the lines that cross between neighbouring columns, with a tree
// of counts (Barth, Jünger and Mutzel, 2002).
func (l *layout) crossings(right [][]int) int {
	total := 0
	for c := 0; c+1 < len(l.columns); c++ {
		next := l.columns[c+1]
		place := make(map[int]int, len(next))
		for i, p := range next {
			place[p] = i
		}
		tree := make([]int, len(next)+1)
		seen := 0
		for _, p := range l.columns[c] {
			var ends []int
			for _, q := range right[p] {
				if i, there := place[q]; there {
					ends = append(ends, i)
				}
			}
			for _, end := range ends {
				not := 0 // that end at or above
				for i := end + 1; i > 0; i -= i & -i {
					not += tree[i]
				}
				total += seen - not
			}
			for _, end := range ends {
				seen++
				for i := end + 1; i < len(tree); i += i & -i {
					tree[i]++
				}
			}
		}
	}
	return total
}

// place gives every point its coordinates: columns side by side, each in the
// middle of the height.
func (l *layout) place() {
	heights := make([]int, len(l.columns))
	for c, column := range l.columns {
		for _, p := range column {
			heights[c] += l.points[p].height + rowGap
		}
		l.height = max(l.height, heights[c])
	}
	x := margin
	for c, column := range l.columns {
		width := 0
		for _, p := range column {
			width = max(width, l.points[p].width)
		}
		y := headHeight + margin + (l.height-heights[c])/2
		for _, p := range column {
			one := &l.points[p]
			one.x, one.y = x, y+one.height/2
			if one.vertex < 0 {
				one.width = width
			}
			y += one.height + rowGap
		}
		x += width + columnGap
	}
	l.width = x - columnGap + margin
	l.height += headHeight + 2*margin
}
