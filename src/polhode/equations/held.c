
/* Constraints that hold:
 *
 *     M udot = forces + tau - bias + J^T lam,   J udot + gamma = 0
 *
 * The rows of J are eliminated with complete pivoting, in units in which a pivot of 1 is the least that
 * counts; so rows that repeat others are left out, and links may be without mass. What is left are the
 * independent speeds, whose equations are recombined from all [Gillespie, eq. 44, 45].
 */
#define ROWS $rows
#define SPEEDS $speeds

typedef struct {
    /* the equations, as $terms writes them; forces become forces + tau - bias */
    double mass_matrix[SPEEDS][SPEEDS], bias[SPEEDS], forces[SPEEDS];
    double J[ROWS][SPEEDS], gamma[ROWS], phi[ROWS], psi[ROWS], reference[ROWS][SPEEDS];
    double qdot[$coordinates], zdot[$states];
    /* 1 / sqrt of the inertia of each speed, and the size of each row in these units */
    double d[SPEEDS], rho[ROWS];
    /* elimination: [J | -gamma | largest entry], and room */
    double table[ROWS][SPEEDS + 2], normal[SPEEDS][SPEEDS], step[SPEEDS], basis[SPEEDS][ROWS];
    /* accelerations in the units of the table */
    double v[SPEEDS];
    /* the order of rows and speeds; the first `rank` of each belong together, these speeds are dependent */
    int row[ROWS], column[SPEEDS];
} ${name}_room;

/* The least of its size that a row must have of its own: files round geometry. */
static const double ${name}_least[ROWS] = {$least};

/* The body that each speed moves, by number. */
static const int ${name}_body[SPEEDS] = {$body};

/* Measure speeds by their inertias, and rows by what they could be in these units. */
static void ${name}_scale(${name}_room *r)
{
    double inertia[SPEEDS], largest = 0.0;
    /* what has no inertia of its own has what the rows reflect to it */
    for (int j = 0; j < SPEEDS; j++) {
        r->d[j] = r->mass_matrix[j][j] > 0.0 ? r->mass_matrix[j][j] : 0.0;
        for (int i = 0; i < ROWS && !(r->mass_matrix[j][j] > 0.0); i++) {
            double others = 0.0;
            for (int k = 0; k < SPEEDS; k++)
                if (k != j && r->mass_matrix[k][k] > 0.0) others += r->J[i][k] * r->J[i][k] / r->mass_matrix[k][k];
            if (others > 0.0) r->d[j] = fmax(r->d[j], r->J[i][j] * r->J[i][j] / others);
        }
        largest = fmax(largest, r->d[j]);
    }
    for (int j = 0; j < SPEEDS; j++) {
        inertia[j] = r->d[j] > 0.0 ? r->d[j] : largest > 0.0 ? largest : 1.0;
        r->d[j] = inertia[j];
    }
    /* and no body counts as much lighter than what it is tied to */
    for (int i = 0; i < ROWS; i++) {
        double whole = 0.0;
        for (int j = 0; j < SPEEDS; j++) whole += r->reference[i][j] / inertia[j];
        for (int j = 0; j < SPEEDS; j++) {
            double others = 0.0;
            for (int k = 0; k < SPEEDS; k++)
                if (${name}_body[k] != ${name}_body[j]) others += r->reference[i][k] / inertia[k];
            if (others > 1e-12 * whole && others < $floor * whole)
                r->d[j] = fmax(r->d[j], $floor * r->reference[i][j] / others);
        }
    }
    for (int i = 0; i < ROWS; i++) {
        double total = 0.0;
        for (int j = 0; j < SPEEDS; j++) total += r->reference[i][j] / r->d[j];
        r->rho[i] = sqrt(total);
    }
    for (int j = 0; j < SPEEDS; j++) r->d[j] = 1.0 / sqrt(r->d[j]);
}

/* Put the rows into the table, in its units; return how many. */
static int ${name}_gather(${name}_room *r)
{
    int count = 0;
    for (int i = 0; i < ROWS; i++) {
        if (r->rho[i] > 0.0) {
            const double unit = 1.0 / (${name}_least[i] * r->rho[i]);
            for (int j = 0; j < SPEEDS; j++) r->table[count][j] = r->J[i][j] * r->d[j] * unit;
            r->table[count][SPEEDS] = -r->gamma[i] * unit;
            r->row[count++] = i;
        }
    }
    return count;
}

static void ${name}_find_largest(double *row)
{
    row[SPEEDS + 1] = 0.0;
    for (int j = 0; j < SPEEDS; j++) row[SPEEDS + 1] = fmax(row[SPEEDS + 1], fabs(row[j]));
}

/* Make row k of the table that with the largest entry left, with 1 there and 0 in all others; 0 where none counts. */
static int ${name}_pivot(${name}_room *r, int k, int count)
{
    int best = k, at = k;
    for (int a = k + 1; a < count; a++)
        if (r->table[a][SPEEDS + 1] > r->table[best][SPEEDS + 1]) best = a;
    if (!(r->table[best][SPEEDS + 1] > 1.0)) return 0;
    for (int b = k + 1; b < SPEEDS; b++)
        if (fabs(r->table[best][r->column[b]]) > fabs(r->table[best][r->column[at]])) at = b;
    const int j = r->column[at], row = r->row[best];
    r->column[at] = r->column[k];
    r->column[k] = j;
    r->row[best] = r->row[k];
    r->row[k] = row;
    for (int b = 0; b < SPEEDS + 2; b++) {
        const double entry = r->table[best][b];
        r->table[best][b] = r->table[k][b];
        r->table[k][b] = entry;
    }
    const double unit = 1.0 / r->table[k][j];
    for (int b = 0; b <= SPEEDS; b++) r->table[k][b] *= unit;
    r->table[k][j] = 1.0;
    for (int a = 0; a < count; a++) {
        const double factor = r->table[a][j];
        if (a == k || factor == 0.0) continue;
        for (int b = 0; b <= SPEEDS; b++) r->table[a][b] -= factor * r->table[k][b];
        r->table[a][j] = 0.0;
        ${name}_find_largest(r->table[a]);
    }
    return 1;
}

/* Reduce the rows to [1 -D | e], so that dependent speeds are D times the others, plus e; return how many. */
static int ${name}_eliminate(${name}_room *r)
{
    const int count = ${name}_gather(r);
    int rank = 0;
    for (int j = 0; j < SPEEDS; j++) r->column[j] = j;
    for (int a = 0; a < count; a++) ${name}_find_largest(r->table[a]);
    while (rank < count && rank < SPEEDS && ${name}_pivot(r, rank, count)) rank++;
    return rank;
}

/* With G = [D; 1]: write the lower triangle of G^T M G to `normal`, G^T (b - M e) to `step`. */
static void ${name}_recombine(${name}_room *r, int rank)
{
    for (int i = 0; i < SPEEDS; i++) {
        r->step[i] = r->forces[i];
        for (int k = 0; k < rank; k++) r->step[i] -= r->mass_matrix[i][r->column[k]] * r->table[k][SPEEDS];
        for (int c = rank; c < SPEEDS; c++) {
            double total = r->mass_matrix[i][r->column[c]];
            for (int k = 0; k < rank; k++)
                total -= r->mass_matrix[i][r->column[k]] * r->table[k][r->column[c]];
            r->normal[i][c] = total;
        }
    }
    for (int c = rank; c < SPEEDS; c++) {
        const int i = r->column[c];
        for (int k = 0; k < rank; k++) {
            r->step[i] -= r->table[k][i] * r->step[r->column[k]];
            for (int b = rank; b <= c; b++) r->normal[i][b] -= r->table[k][i] * r->normal[r->column[k]][b];
        }
    }
}

/* Solve for the independent speeds by Cholesky, then for the others; 0 where they are not determined. */
static int ${name}_solve(${name}_room *r, int rank)
{
    for (int c = rank; c < SPEEDS; c++) {
        const int i = r->column[c];
        const double whole = r->normal[i][c];
        for (int b = rank; b <= c; b++) {
            const int j = r->column[b];
            double total = r->normal[i][b];
            for (int k = rank; k < b; k++) total -= r->normal[i][k] * r->normal[j][k];
            if (b == c && !(total > 1e-14 * whole)) return 0;
            r->normal[i][b] = b == c ? sqrt(total) : total / r->normal[j][b];
        }
        for (int b = rank; b < c; b++) r->step[i] -= r->normal[i][b] * r->step[r->column[b]];
        r->step[i] /= r->normal[i][c];
    }
    for (int c = SPEEDS - 1; c >= rank; c--) {
        const int i = r->column[c];
        double total = r->step[i];
        for (int b = c + 1; b < SPEEDS; b++) total -= r->normal[r->column[b]][c] * r->v[r->column[b]];
        r->v[i] = total / r->normal[i][c];
    }
    for (int k = 0; k < rank; k++) {
        double total = r->table[k][SPEEDS];
        for (int c = rank; c < SPEEDS; c++) total -= r->table[k][r->column[c]] * r->v[r->column[c]];
        r->v[r->column[k]] = total;
    }
    return 1;
}

/* The least lam with J^T lam = M v - b, by Gram and Schmidt, twice: of rows that repeat others each has its share. */
static void ${name}_react(${name}_room *r, int rank, double *lam)
{
    for (int i = 0; i < ROWS; i++) lam[i] = 0.0;
    for (int k = 0; k < rank; k++) {
        const int j = r->column[k];
        double right = -r->forces[j], size = 0.0;
        for (int i = 0; i < SPEEDS; i++) right += r->mass_matrix[j][i] * r->v[i];
        for (int i = 0; i < ROWS; i++) r->basis[k][i] = r->rho[i] > 0.0 ? r->J[i][j] * r->d[j] / r->rho[i] : 0.0;
        for (int a = 0; a < 2 * k; a++) {
            const double *other = r->basis[a % k];
            double along = 0.0;
            for (int i = 0; i < ROWS; i++) along += other[i] * r->basis[k][i];
            for (int i = 0; i < ROWS; i++) r->basis[k][i] -= along * other[i];
            right -= along * r->step[a % k];
        }
        for (int i = 0; i < ROWS; i++) size += r->basis[k][i] * r->basis[k][i];
        size = sqrt(size);
        r->step[k] = right / size;
        for (int i = 0; i < ROWS; i++) {
            r->basis[k][i] /= size;
            lam[i] += r->step[k] * r->basis[k][i];
        }
    }
    for (int i = 0; i < ROWS; i++) lam[i] = r->rho[i] > 0.0 ? lam[i] / r->rho[i] : 0.0;
}

int ${name}($inputs, double *udot, double *lam)
{
    ${name}_room room, *r = &room;
    ${terms}(
        $given, (double *)r->mass_matrix, r->bias, r->forces, (double *)r->J, r->gamma, r->phi, r->psi,
        (double *)r->reference, r->qdot$zdot
    );
    for (int i = 0; i < SPEEDS; i++) r->forces[i] += tau[i] - r->bias[i];
    ${name}_scale(r);
    for (int i = 0; i < SPEEDS; i++) {
        r->forces[i] *= r->d[i];
        for (int j = 0; j < SPEEDS; j++) r->mass_matrix[i][j] *= r->d[i] * r->d[j];
    }
    const int rank = ${name}_eliminate(r);
    ${name}_recombine(r, rank);
    if (!${name}_solve(r, rank)) {
        for (int i = 0; i < SPEEDS; i++) udot[i] = HUGE_VAL - HUGE_VAL;
        for (int i = 0; i < ROWS; i++) lam[i] = HUGE_VAL - HUGE_VAL;
        return 1;
    }
    for (int i = 0; i < SPEEDS; i++) udot[i] = r->v[i] * r->d[i];
    ${name}_react(r, rank, lam);
    return 0;
}

#undef ROWS
#undef SPEEDS
