"""Functions of SciPy, scikit-learn and array-api-extra on arrays of vkarray. NumPy's arrays give what is expected.

Each case is called with a namespace and with arrays of it: `x` and `y` have 37 rows and 5 columns, `v` and `w` 64
elements, `labels` and `guesses` are integers below 3. What it returns is an array of the same namespace or a number.
"""

import os

os.environ["SCIPY_ARRAY_API"] = "1"

import array_api_compat
import array_api_extra as xpx
import numpy as np
import pytest
import scipy.cluster.vq
import scipy.differentiate
import scipy.fft
import scipy.integrate
import scipy.optimize.elementwise
import scipy.signal
import scipy.special
import scipy.stats
import sklearn
import sklearn.metrics
import sklearn.metrics.pairwise
import sklearn.model_selection
import sklearn.preprocessing
from scipy.spatial.distance import cdist
from scipy.spatial.transform import Rotation
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import Ridge
from sklearn.mixture import GaussianMixture

import vkarray as vk

_STATS = """zscore gmean hmean skew kurtosis variation sem tmean tvar tstd entropy moment circmean circvar rankdata iqr
differential_entropy""".split()
CASES = {f"scipy.stats.{name}": lambda xp, a, name=name: getattr(scipy.stats, name)(a["x"]) for name in _STATS}
CASES |= {
    "scipy.stats.ttest_ind": lambda xp, a: scipy.stats.ttest_ind(a["x"], a["y"]).statistic,
    "scipy.stats.ttest_1samp": lambda xp, a: scipy.stats.ttest_1samp(a["x"], 0.5).statistic,
    "scipy.stats.ttest_rel": lambda xp, a: scipy.stats.ttest_rel(a["x"], a["y"]).statistic,
    "scipy.stats.pearsonr": lambda xp, a: scipy.stats.pearsonr(a["v"], a["w"]).statistic,
    "scipy.stats.chisquare": lambda xp, a: scipy.stats.chisquare(a["x"]).statistic,
    "scipy.stats.jarque_bera": lambda xp, a: scipy.stats.jarque_bera(a["x"], axis=0).statistic,
    "scipy.stats.skewtest": lambda xp, a: scipy.stats.skewtest(a["x"]).statistic,
    "scipy.stats.f_oneway": lambda xp, a: scipy.stats.f_oneway(a["x"], a["y"]).statistic,
    "scipy.stats.levene": lambda xp, a: scipy.stats.levene(a["v"], a["w"]).statistic,
    "scipy.stats.mannwhitneyu": lambda xp, a: scipy.stats.mannwhitneyu(a["v"], a["w"]).statistic,
    "scipy.stats.quantile": lambda xp, a: scipy.stats.quantile(a["x"], 0.3),
    "scipy.stats.pmean": lambda xp, a: scipy.stats.pmean(a["x"], 3),
    "scipy.stats.directional_stats": lambda xp, a: scipy.stats.directional_stats(a["x"]).mean_direction,
    "scipy.integrate.trapezoid": lambda xp, a: scipy.integrate.trapezoid(a["x"], axis=0),
    "scipy.integrate.cumulative_trapezoid": lambda xp, a: scipy.integrate.cumulative_trapezoid(a["x"], axis=0),
    "scipy.integrate.cumulative_simpson": lambda xp, a: scipy.integrate.cumulative_simpson(a["v"]),
    "scipy.integrate.tanhsinh": lambda xp, a: scipy.integrate.tanhsinh(xp.sqrt, a["v"] * 0, a["v"]).integral,
    "scipy.special.logsumexp": lambda xp, a: scipy.special.logsumexp(a["x"], axis=1),
    "scipy.special.softmax": lambda xp, a: scipy.special.softmax(a["x"], axis=1),
    "scipy.special.log_softmax": lambda xp, a: scipy.special.log_softmax(a["x"], axis=1),
    "scipy.special.expit": lambda xp, a: scipy.special.expit(a["x"]),
    "scipy.special.entr": lambda xp, a: scipy.special.entr(a["x"]),
    "scipy.special.xlogy": lambda xp, a: scipy.special.xlogy(a["x"], a["y"]),
    "scipy.fft.fft": lambda xp, a: scipy.fft.fft(a["v"]),
    "scipy.fft.irfft": lambda xp, a: scipy.fft.irfft(scipy.fft.rfft(a["v"])),
    "scipy.fft.fftn": lambda xp, a: scipy.fft.fftn(a["x"]),
    "scipy.fft.fftshift": lambda xp, a: scipy.fft.fftshift(a["x"]),
    "scipy.signal.detrend": lambda xp, a: scipy.signal.detrend(a["x"], axis=0, type="constant"),
    "scipy.signal.fftconvolve": lambda xp, a: scipy.signal.fftconvolve(a["v"], a["w"]),
    "scipy.signal.hilbert": lambda xp, a: scipy.signal.hilbert(a["v"]),
    "scipy.signal.convolve": lambda xp, a: scipy.signal.convolve(a["v"], a["w"]),
    "scipy.spatial.transform.Rotation": lambda xp, a: Rotation.from_rotvec(a["x"][:, :3]).as_matrix(),
    "scipy.cluster.vq.vq": lambda xp, a: scipy.cluster.vq.vq(a["x"], a["y"][:3, :])[1],
    "scipy.cluster.vq.whiten": lambda xp, a: scipy.cluster.vq.whiten(a["x"]),
    "scipy.optimize.elementwise.find_root": lambda xp, a: scipy.optimize.elementwise.find_root(
        lambda t, c: t * t - c, (xp.zeros_like(a["v"]), xp.ones_like(a["v"]) * 2), args=(a["v"],)).x,
    "scipy.differentiate.derivative": lambda xp, a: scipy.differentiate.derivative(xp.exp, a["v"]).df,
    "sklearn.metrics.accuracy_score": lambda xp, a: sklearn.metrics.accuracy_score(a["labels"], a["guesses"]),
    "sklearn.metrics.zero_one_loss": lambda xp, a: sklearn.metrics.zero_one_loss(a["labels"], a["guesses"]),
    "sklearn.metrics.confusion_matrix": lambda xp, a: sklearn.metrics.confusion_matrix(a["labels"], a["guesses"]),
    "sklearn.metrics.f1_score": lambda xp, a: sklearn.metrics.f1_score(a["labels"], a["guesses"], average="macro"),
    "sklearn.preprocessing.KernelCenterer": lambda xp, a: sklearn.preprocessing.KernelCenterer().fit_transform(
        a["x"] @ a["x"].T),
    "sklearn.preprocessing.PolynomialFeatures": lambda xp, a: sklearn.preprocessing.PolynomialFeatures(
        2).fit_transform(a["x"]),
    "sklearn.preprocessing.Normalizer": lambda xp, a: sklearn.preprocessing.Normalizer().fit_transform(a["x"]),
    "sklearn.preprocessing.MinMaxScaler": lambda xp, a: sklearn.preprocessing.MinMaxScaler().fit_transform(a["x"]),
    "sklearn.preprocessing.MaxAbsScaler": lambda xp, a: sklearn.preprocessing.MaxAbsScaler().fit_transform(a["x"]),
    "sklearn.preprocessing.StandardScaler": lambda xp, a: sklearn.preprocessing.StandardScaler().fit_transform(a["x"]),
    "sklearn.preprocessing.Binarizer": lambda xp, a: sklearn.preprocessing.Binarizer(
        threshold=0.5).fit_transform(a["x"]),
    "sklearn.preprocessing.LabelEncoder": lambda xp, a: sklearn.preprocessing.LabelEncoder().fit_transform(a["labels"]),
    "sklearn.model_selection.train_test_split": lambda xp, a: sklearn.model_selection.train_test_split(
        a["x"], random_state=0)[0],
}
CASES |= {
    "sklearn.decomposition.PCA": lambda xp, a: abs(PCA(2, svd_solver="full").fit_transform(a["x"])),
    "sklearn.decomposition.PCA of covariances": lambda xp, a: abs(
        PCA(2, svd_solver="covariance_eigh").fit_transform(a["x"])),
    "sklearn.linear_model.Ridge": lambda xp, a: Ridge(solver="svd").fit(a["x"], a["y"][:, 0]).coef_,
    "sklearn.discriminant_analysis.LinearDiscriminantAnalysis": lambda xp, a: abs(
        LinearDiscriminantAnalysis().fit(a["x"], a["labels"][:37]).transform(a["x"])),
    "sklearn.mixture.GaussianMixture": lambda xp, a: GaussianMixture(
        2, init_params="random", random_state=0).fit(a["x"]).means_,
}
CASES |= {
    f"sklearn.metrics.{name}": lambda xp, a, name=name: getattr(sklearn.metrics, name)(a["v"], a["w"])
    for name in """mean_squared_error root_mean_squared_error mean_absolute_error mean_absolute_percentage_error
    mean_squared_log_error max_error r2_score d2_tweedie_score mean_tweedie_deviance mean_pinball_loss
    explained_variance_score median_absolute_error""".split()
}
CASES |= {
    f"sklearn.metrics.pairwise.{name}": lambda xp, a, name=name: getattr(sklearn.metrics.pairwise, name)(a["x"], a["y"])
    for name in """cosine_similarity cosine_distances euclidean_distances linear_kernel polynomial_kernel rbf_kernel
    sigmoid_kernel laplacian_kernel chi2_kernel additive_chi2_kernel paired_cosine_distances
    paired_euclidean_distances manhattan_distances""".split()
}
CASES |= {
    "array_api_extra.atleast_nd": lambda xp, a: xpx.atleast_nd(a["v"], ndim=3),
    "array_api_extra.cov": lambda xp, a: xpx.cov(a["x"].T),
    "array_api_extra.create_diagonal": lambda xp, a: xpx.create_diagonal(a["v"]),
    "array_api_extra.kron": lambda xp, a: xpx.kron(a["x"], a["y"][:2, :]),
    "array_api_extra.nunique": lambda xp, a: xpx.nunique(a["labels"]),
    "array_api_extra.one_hot": lambda xp, a: xpx.one_hot(a["labels"], 3),
    "array_api_extra.pad": lambda xp, a: xpx.pad(a["x"], 2),
    "array_api_extra.setdiff1d": lambda xp, a: xpx.setdiff1d(a["labels"], a["guesses"][:2]),
    "array_api_extra.sinc": lambda xp, a: xpx.sinc(a["x"]),
    "array_api_extra.isclose": lambda xp, a: xpx.isclose(a["x"], a["y"]),
    "array_api_extra.at": lambda xp, a: xpx.at(a["v"], a["v"] > 0.5).set(0.0),
    "array_api_extra.apply_where": lambda xp, a: xpx.apply_where(a["v"] > 0.5, a["v"], xp.log, fill_value=0.0),
    "array_api_compat.array_namespace": lambda xp, a: array_api_compat.array_namespace(a["x"]).sum(a["x"]),
}


# What does not work, and what it lacks.
LACKING = {
    "sklearn.metrics.roc_auc_score": (
        "positional", lambda xp, a: sklearn.metrics.roc_auc_score(a["labels"] > 0, a["guesses"])),
    "scipy.integrate.simpson": ("an array of NumPy", lambda xp, a: scipy.integrate.simpson(a["x"], axis=0)),
    "scipy.spatial.distance.cdist": ("an array of NumPy", lambda xp, a: cdist(a["x"], a["y"])),
    "scipy.signal.periodogram": ("an array of NumPy", lambda xp, a: scipy.signal.periodogram(a["v"])[1]),
}


def arrays():
    """The arguments of a case, as arrays of NumPy."""
    rng = np.random.default_rng(0)
    sizes = {"x": (37, 5), "y": (37, 5), "v": (64,), "w": (64,)}
    made = {name: rng.random(size) + 0.1 for name, size in sizes.items()}
    return made | {name: rng.integers(3, size=100) for name in ("labels", "guesses")}


def on_device(case):
    """What a case returns for arrays of vkarray."""
    with sklearn.config_context(array_api_dispatch=True):
        found = case(vk, {name: vk.asarray(value) for name, value in arrays().items()})
    if isinstance(found, np.ndarray):
        raise TypeError("the result is an array of NumPy")
    return found


@pytest.mark.parametrize("name", CASES)
def test_agrees_with_numpy(name):
    expected, found = CASES[name](np, arrays()), on_device(CASES[name])
    assert isinstance(found, (vk.Array, float, int, bool, np.floating)), type(found)
    np.testing.assert_allclose(np.asarray(found), np.asarray(expected), rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize("name", LACKING)
def test_says_what_is_lacking(name):
    lacks, case = LACKING[name]
    with pytest.raises((AttributeError, TypeError), match=lacks):
        on_device(case)
