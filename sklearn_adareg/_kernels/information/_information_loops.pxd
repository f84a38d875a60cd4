# The loops of sums over rows in _information_loops.h, as Cython sees them.

cdef extern from "_information_loops.h" nogil:
    void dense_margins "adareg_margins"(const double* Z, Py_ssize_t stride, Py_ssize_t n, Py_ssize_t D, const double* x, Py_ssize_t V,
                                        Py_ssize_t lanes, double* m)
    void sparse_margins "adareg_sparse_margins"(const double* z, const int* index, Py_ssize_t n, const double* x, Py_ssize_t V,
                                                Py_ssize_t lanes, double* m)
    void add_products "adareg_add_products"(const double* A, const double* B, Py_ssize_t n, Py_ssize_t D, double* G, Py_ssize_t ldg,
                                            int upper)
    void weigh_row "adareg_weigh_row"(const double* z, double h, double f, Py_ssize_t n, double* a, double* r)
    void centred "adareg_centre"(const double* V, const double* c, Py_ssize_t n, Py_ssize_t D, double* Z)
    void limited "adareg_limit"(const double* v, const double* low, const double* high, Py_ssize_t n, double* z)
    void log_losses "adareg_log_losses"(const double* m, double y, Py_ssize_t n, double* loss)
    void log_loss_sums "adareg_log_loss_sums"(const double* old, const double* move, double step, const double* y,
                                              const double* weight, Py_ssize_t n, Py_ssize_t V, Py_ssize_t lanes, double* room,
                                              double* totals)
    void move_rows "adareg_move_rows"(const double* start, Py_ssize_t V, const double* move, const double* step, Py_ssize_t n,
                                      Py_ssize_t lanes, double* to, Py_ssize_t stride)
    void subtract_rows "adareg_subtract_rows"(const double* start, Py_ssize_t V, Py_ssize_t n, Py_ssize_t lanes, double* move)
    void exp_of_minus "adareg_exp_of_minus"(const double* x, Py_ssize_t n, double* e)
    double softmax "adareg_softmax"(const double* m, Py_ssize_t C, Py_ssize_t y, double* p)
    void probabilities "adareg_probabilities"(const double* m, Py_ssize_t n, Py_ssize_t stride, double* p)
    void layer_margins "adareg_layer_margins"(const double* w, Py_ssize_t layers, Py_ssize_t stride, Py_ssize_t n, const double* m,
                                              const double* mask, double* mean)
    double capped "adareg_cap"(double* loss, double factor, double cap, Py_ssize_t n, double* capped)
    void shared "adareg_share"(double* w, Py_ssize_t layers, const double* awake, double* capped, double* power, double* beyond,
                               const double* first, const double* rates, Py_ssize_t n, Py_ssize_t room, double* sums)
    void add_row "adareg_add_row"(double* G, double* r, double kept, double h, double b, const double* f, Py_ssize_t n)
    void diagonal_step "adareg_diagonal_step"(const double* z, const int* index, Py_ssize_t n, Py_ssize_t stride, double* x,
                                              double* G, const double* R, const double* s, const double* g, const double* h,
                                              const double* own, double w, double* room)
